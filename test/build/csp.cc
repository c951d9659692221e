// SPDX-License-Identifier: BSD-3-Clause
// Processes and channels from C++: the overloads of csp_hold and the like, and CSP_PAR with fields
// left out.
#include <cstdio>
#include <millet/csp.h>

static int count(void *arg)
{
    csp_out *out = static_cast<csp_out *>(arg);
    csp_hold(out);
    for (int i = 1; i <= 3; i++)
        if (csp_write(out, &i) != CSP_OK)
            return 1;
    return CSP_OK;
}

static int sum(void *arg)
{
    csp_in *in = static_cast<csp_in *>(arg);
    int v = 0, all = 0;
    while (csp_read(in, &v) == CSP_OK)
        all += v;
    csp_retire(in);
    std::printf("sum %d\n", all);
    return all != 6;
}

int main()
{
    csp_chan *chan = csp_chan_new("numbers", sizeof(int));
    int result = CSP_PAR({count, csp_chan_out(chan)}, {sum, csp_chan_in(chan), "sum"});
    csp_poison(csp_chan_in(chan));
    csp_poison(csp_chan_out(chan));
    csp_chan_free(chan);
    return result;
}
