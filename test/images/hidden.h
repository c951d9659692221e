// SPDX-License-Identifier: BSD-3-Clause
#pragma once

int add_to_total(int n);
char *last_text(void);
