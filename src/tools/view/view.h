// SPDX-License-Identifier: BSD-3-Clause
// `millet view`: a run as a page for a browser. The page is one file: what draws it (page.html and the files beside it,
// which are built into `millet`), a description in JSON, and data as the page's script reads them.
#pragma once

#include <stddef.h>

// The page before and after what describes the runs; made of the files of this folder when Millet is built.
extern const unsigned char mlt_view_before[], mlt_view_after[];
extern const size_t mlt_view_before_bytes, mlt_view_after_bytes;
