// SPDX-License-Identifier: BSD-3-Clause
// Messages about a file, in the order in which they were said.
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "flowc/ast.h"

void mlt_flow_say(mlt_flow_messages *to, int line, int column, mlt_flow_severity severity,
                  const char *format, ...)
{
    mlt_flow_message *message = mlt_xcalloc(1, sizeof *message);
    message->line = line;
    message->column = column;
    message->warning = severity == MLT_FLOW_WARNING;
    MLT_TEXT_PRINT(message->text, sizeof message->text, format);
    if (to->last)
        to->last->next = message;
    else
        to->first = message;
    to->last = message;
    if (message->warning)
        to->warnings++;
    else
        to->errors++;
}

void mlt_flow_messages_free(mlt_flow_messages *messages)
{
    for (mlt_flow_message *next, *m = messages->first; m; m = next) {
        next = m->next;
        free(m);
    }
    *messages = (mlt_flow_messages){0};
}
