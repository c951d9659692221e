// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "Calculator.flow.h"

static void answer(Calculator *my, const flow_line *line)
{
    double a, b;
    char op;
    int end = 0;

    if (sscanf(line->text, "%lf %c %lf %n", &a, &op, &b, &end) != 3 || line->text[end] != '\0')
        flow_reply(my, line->client, "error: '%s' is no sum such as 3 + 4", line->text);
    else if (op == '+')
        flow_reply(my, line->client, "%g", a + b);
    else if (op == '-')
        flow_reply(my, line->client, "%g", a - b);
    else if (op == '*')
        flow_reply(my, line->client, "%g", a * b);
    else if (op == '/')
        flow_reply(my, line->client, "%g", a / b);
    else
        flow_reply(my, line->client, "error: '%c' is none of + - * /", op);
}

int Calculator_run(Calculator *my)
{
    const flow_line *line;
    size_t n;

    while (flow_dequeue(my, &line, &n)) {
        if (strcmp(line->text, "quit") == 0)
            flow_hang_up(my, line->client);
        else
            answer(my, line);
    }
    return 0;
}
