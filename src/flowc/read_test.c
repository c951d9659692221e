// SPDX-License-Identifier: BSD-3-Clause
// The reader: every construct, printed back; the lines of things; for every kind of wrong text its
// sentence and place; limits; and what docs/reference/flow-language.md shows as flow text.
#include "flowc/read_test.h"

#include <source_dir.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "flowc/ast.h"

static const char *about; // text that is being tried

static void tell_text(void)
{
    fprintf(stderr, "--- text\n%.500s\n", about ? about : "");
}

// In memory of exactly its size: nothing behind it may be looked at.
static mlt_flow_file *read_bytes(const char *text, size_t size, mlt_flow_messages *messages)
{
    char *own = malloc(size ? size : 1);
    CHECK(own);
    memcpy(own, text, size);
    mlt_flow_file *file = mlt_flow_read("t.flow", own, size, messages);
    free(own);
    CHECK(file && strcmp(file->path, "t.flow") == 0);
    return file;
}

// All that was said, a line each: "line:column: sentence".
static char *said_of(const mlt_flow_messages *messages)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    CHECK(to);
    for (const mlt_flow_message *m = messages->first; m; m = m->next)
        fprintf(to, "%s%d:%d: %s", m == messages->first ? "" : "\n", m->line, m->column, m->text);
    CHECK(fclose(to) == 0);
    return text;
}

static mlt_flow_file *read_right(const char *text)
{
    about = text;
    mlt_flow_messages messages = {0};
    mlt_flow_file *file = read_bytes(text, strlen(text), &messages);
    if (messages.first)
        fprintf(stderr, "%s\n", said_of(&messages));
    CHECK(!messages.first);
    return file;
}

// ---- right texts

typedef struct right {
    const char *text, *printed;
} right;

// clang-format off
static const right rights[] = {
    {"", ""},
    {" \t\r\n\v\f // only a comment", ""},
    {"/* one\n * two **/\n// three\n", ""},
    {"\xef\xbb\xbf" "const N = 1;", "const N = 1;\n"},
    // The paper's figures, 3(a) and 5.
    {"Module Main is Root requires Module Chemical, Module Reduce {\n  void initialize() {\n    Chemical c[16];\n"
     "    Reduce r;\n    flow:\n      c ||| r(sum);\n  }\n}",
     "Module Main is Root requires Module Chemical, Module Reduce {\nChemical c[16];\nReduce r;\nflow:\nc ||| r(sum);\n}\n"},
    {"Module Main is Root requires Module Parallel, Module Reduce {\n  void initialize() {\n    Parallel p[4];\n"
     "    Reduce r1, r2;\n    flow :\n      p ||| r1(sum) ||| p[0], p[2];\n      p[1:2].outQueue1 ||| r2(multiply) ||| p[3];\n"
     "  }\n}\n\nDeclare Module Parallel {\n  data_section {\n    double *send_buffer1, *send_buffer2;\n  }\n\n  Output:\n"
     "  Output Queue is outQueue1;\n}\n",
     "Declare Module Parallel {\ndata_section {\n    double *send_buffer1, *send_buffer2;\n  }\nout void outQueue1;\n}\n"
     "Module Main is Root requires Module Parallel, Module Reduce {\nParallel p[4];\nReduce r1;\nReduce r2;\nflow:\n"
     "p ||| r1(sum) ||| p[0], p[2];\np[1:2].outQueue1 ||| r2(multiply) ||| p[3];\n}\n"},
    // Constants, numbers and expressions.
    {"const N = 16; const M = 0xFf;const K=0X10;const Z = 0;", "const N = 16;\nconst M = 255;\nconst K = 16;\nconst Z = 0;\n"},
    {"const N = 9223372036854775807; const M = 0x7fffffffffffffff;", "const N = 9223372036854775807;\nconst M = 9223372036854775807;\n"},
    {"const A = 1 + 2 * 3 - 4 / 5 % B;", "const A = 1 + 2 * 3 - 4 / 5 % B;\n"},
    {"const A = (1 + 2) * (3 - (4 - 5)) - (6);", "const A = (1 + 2) * (3 - (4 - 5)) - 6;\n"},
    {"const A = 1 - (2 + 3) - (4 * 5) / (6 / 7);", "const A = 1 - (2 + 3) - 4 * 5 / (6 / 7);\n"},
    {"const A = -1 - -B * --C + -(D + 1);", "const A = -1 - -B * --C + -(D + 1);\n"},
    {"const A = 1 /* one */ + // two\n 2;", "const A = 1 + 2;\n"},
    {"const Input = 1; const weight = 2; const Queue = 3; const Operation = 4; const initialize = 5; const data_section = 6;",
     "const Input = 1;\nconst weight = 2;\nconst Queue = 3;\nconst Operation = 4;\nconst initialize = 5;\nconst data_section = 6;\n"},
    // Includes.
    {"include \"a.h\"; include <b/c.h>; include \"d e.h\" ; include<f.h>;", "include \"a.h\";\ninclude <b/c.h>;\ninclude \"d e.h\";\ninclude <f.h>;\n"},
    // Operations.
    {"Declare Operation merge(struct  sketch) ordered; Declare Operation most(double);",
     "Declare Operation merge(struct sketch) ordered;\nDeclare Operation most(double);\n"},
    // Modules.
    {"Declare Module A { }", "Declare Module A {\n}\n"},
    {"Declare Module A { data_section{} Input: Output: Input Queue is a; Output Queue is b cap 3 optional; weight 2 * N; }",
     "Declare Module A {\ndata_section {}\nin void a;\nout void b cap 3 optional;\nweight 2 * N;\n}\n"},
    {"Declare Module A { in double; out double; }", "Declare Module A {\nin double in;\nout double out;\n}\n"},
    {"Declare Module A { in double in; out double out[]; Input Queue is in; Output Queue is out; }",
     "Declare Module A {\nin double in;\nout double out;\nin void in;\nout void out;\n}\n"},
    {"Declare Module A { out double outQueue1[] cap 64; in int x optional cap N+1; in int[] cap 2; in int cap (2); in int optional; }",
     "Declare Module A {\nout double outQueue1 cap 64;\nin int x cap N + 1 optional;\nin int in cap 2;\nin int in cap 2;\nin int in optional;\n}\n"},
    {"Declare Module A { in void ctl; in void; in weight; in weight weight; in data_section Input; in struct s; in struct s s; in union u; in enum e e; }",
     "Declare Module A {\nin void ctl;\nin void in;\nin weight in;\nin weight weight;\nin data_section Input;\nin struct s in;\nin struct s s;\nin union u in;\nin enum e e;\n}\n"},
    // Types of C have one name each.
    {"Declare Module A { in char a; in signed char a; in char unsigned a; in short a; in signed short int a; in unsigned short a; in int a; in signed a; in unsigned a; in unsigned int a; }",
     "Declare Module A {\nin char a;\nin signed char a;\nin unsigned char a;\nin short a;\nin short a;\nin unsigned short a;\nin int a;\nin int a;\nin unsigned a;\nin unsigned a;\n}\n"},
    {"Declare Module A { in long a; in long int a; in long unsigned int a; in int long long a; in unsigned long long a; in float a; in double a; in long double a; in bool a; in _Bool a; }",
     "Declare Module A {\nin long a;\nin long a;\nin unsigned long a;\nin long long a;\nin unsigned long long a;\nin float a;\nin double a;\nin long double a;\nin _Bool a;\nin _Bool a;\n}\n"},
    {"Declare Module A { in float complex a; in double _Complex a; in _Complex double; in complex complex; in size_t n; in uint8_t; }",
     "Declare Module A {\nin float _Complex a;\nin double _Complex a;\nin double _Complex in;\nin complex complex;\nin size_t n;\nin uint8_t in;\n}\n"},
    // Braces of C text that close nothing.
    {"Declare Module A { data_section { char a = '}', b = '\\'', c = '\"'; struct { int x; } d; /* } */ // }\n char *e = \"}\\\"}\"; } weight 1; }",
     "Declare Module A {\ndata_section { char a = '}', b = '\\'', c = '\"'; struct { int x; } d; /* } */ // }\n char *e = \"}\\\"}\"; }\nweight 1;\n}\n"},
    {"Declare Module A { data_section {\n#error don't\n} }", "Declare Module A {\ndata_section {\n#error don't\n}\n}\n"},
    {"Declare Module A { data_section { char *a = \"\\\n}\"; } }", "Declare Module A {\ndata_section { char *a = \"\\\n}\"; }\n}\n"},
    // Roots.
    {"Module M is Root { }", "Module M is Root {\n}\n"},
    {"Module M is Root { void initialize() { } }", "Module M is Root {\n}\n"},
    {"Module M is Root { void initialize(void) { A a; } }", "Module M is Root {\nA a;\n}\n"},
    {"Module M is Root { flow: }", "Module M is Root {\n}\n"},
    {"Module M is Root requires Module A { in double; out void o optional; Input: Input Queue is i; Input in1[2], in2; Output o2; flow: in -> in1[0]; i -> in2; o2 -> out, o; }",
     "Module M is Root requires Module A {\nin double in;\nout void o optional;\nin void i;\nInput in1[2];\nInput in2;\nOutput o2;\nflow:\nin -> in1[0];\ni -> in2;\no2 -> out, o;\n}\n"},
    {"Module M is Root { in int; void initialize() { A a; flow: in -> a; } }", "Module M is Root {\nin int in;\nA a;\nflow:\nin -> a;\n}\n"},
    {"Module M is Root { const N = 2; A a[N * 2], b; const K = N; flow: a -> b; const J = 3; a[J] => b; }",
     "Module M is Root {\nconst N = 2;\nA a[N * 2];\nA b;\nconst K = N;\nflow:\na -> b;\nconst J = 3;\na[J] => b;\n}\n"},
    {"Module M is Root { A a; flow: a[0:7:2].q(sum), b[1].in -> c[N-1:0:-1] => d.out ||| e(max); }",
     "Module M is Root {\nA a;\nflow:\na[0:7:2].q(sum), b[1].in -> c[N - 1:0:-1] => d.out ||| e(max);\n}\n"},
    {"Module M is Root { flow: a @ host1; a[0:7], b @ host1:0; a @ host1:N-1; a @ 3; a @ (N); a @ N+1; a @ -1; a @ \"node-3.a_b\"; a @ \"x\":2; }",
     "Module M is Root {\nflow:\na @ \"host1\";\na[0:7], b @ \"host1\":0;\na @ \"host1\":N - 1;\na @ (3);\na @ (N);\na @ (N + 1);\na @ (-1);\na @ \"node-3.a_b\";\na @ \"x\":2;\n}\n"},
    {"Module A is Root { }Module B is Root requires Module A, Module A { A a; }Declare Module C { }",
     "Declare Module C {\n}\nModule A is Root {\n}\nModule B is Root requires Module A, Module A {\nA a;\n}\n"},
    {"Module M is Root { weight weight, Module1; Operation include; flow: weight -> Operation(initialize); }",
     "Module M is Root {\nweight weight;\nweight Module1;\nOperation include;\nflow:\nweight -> Operation(initialize);\n}\n"},
};
// clang-format on

static void try_right(const right *r)
{
    mlt_flow_file *file = read_right(r->text);
    char *once = flow_printed(file);
    check_same_text("printed", once, r->printed);
    mlt_flow_file *again = read_right(once);
    char *twice = flow_printed(again);
    CHECK(strcmp(once, twice) == 0);
    mlt_flow_file_free(file);
    mlt_flow_file_free(again);
    free(once);
    free(twice);
}

// ---- wrong texts

typedef struct wrong {
    const char *text, *said; // a line for each sentence
} wrong;

// clang-format off
static const wrong wrongs[] = {
    {"const", "1:6: expected the name of a constant after 'const', found the end of the file"},
    {"const N", "1:8: expected '=' after 'const N', found the end of the file"},
    {"const N 16;", "1:9: expected '=' after 'const N', found '16'"},
    {"const N = ;", "1:11: expected a number or a constant after 'const N =', found ';'"},
    {"const N = 16", "1:13: expected ';' after 'const N = 16', found the end of the file"},
    {"const N = 16\nconst M = 17;", "1:13: expected ';' after 'const N = 16', found 'const'"},
    {"const N = 16 const M = 17;", "1:14: expected ';' after 'const N = 16', found 'const'"},
    {"const int N = 16;", "1:7: constants have no type, all are whole numbers: write 'const NAME = value;'"},
    {"const 5 = 16;", "1:7: expected the name of a constant after 'const', found '5'"},
    {"const in = 16;", "1:7: 'in' is a word of the language and cannot be the name of a constant"},
    {"const while = 16;", "1:7: 'while' is a word of C and cannot be the name of a constant"},
    {"const N = 010;", "1:11: '010' begins with 0, which would make it octal in C; write it decimal or as 0x..."},
    {"const N = 12ab;", "1:11: '12ab' is not a whole number"},
    {"const N = 0x;", "1:11: '0x' is not a whole number"},
    {"const N = 0xfg;", "1:11: '0xfg' is not a whole number"},
    {"const N = 1.5;", "1:11: '1.5' is not a whole number"},
    {"const N = 9223372036854775808;", "1:11: 9223372036854775808 is too large; the greatest number is 9223372036854775807"},
    {"const N = 0x8000000000000000;", "1:11: 0x8000000000000000 is too large; the greatest number is 9223372036854775807"},
    {"const N = (1 + 2;", "1:17: expected ')' after 'const N = (1 + 2', found ';'"},
    {"const N = 1 + ;", "1:15: expected a number or a constant after 'const N = 1 +', found ';'"},
    {"const N = 1 + * 2;", "1:15: expected a number or a constant after 'const N = 1 +', found '*'"},
    {"const N = +1;", "1:11: expected a number or a constant after 'const N =', found '+'"},
    {"const N = 1 & 2;", "1:13: '&' is not a character of the language\n1:15: expected ';' after 'const N = 1', found '2'"},
    {"const N = \"a\";", "1:11: expected a number or a constant after 'const N =', found '\"a\"'"},
    {"const N = 'a';", "1:11: ''' is not a character of the language\n1:13: ''' is not a character of the language"},
    {"cnst N = 16;", "1:1: expected 'Module', 'Declare', 'const' or 'include', found 'cnst'; did you mean 'const'?"},
    {"constant N = 16;", "1:1: expected 'Module', 'Declare', 'const' or 'include', found 'constant'"},
    {"# define N 16\nconst M = 1;", "1:1: there is no preprocessor here: write 'include \"types.h\";' for types, 'const N = 16;' for numbers"},
    {"#include \"a.h\"", "1:1: there is no preprocessor here: write 'include \"types.h\";' for types, 'const N = 16;' for numbers"},
    {"include;", "1:8: expected a file such as \"types.h\" or <math.h> after 'include', found ';'"},
    {"include a.h;", "1:9: expected a file such as \"types.h\" or <math.h> after 'include', found 'a'"},
    {"include \"a.h\"", "1:14: expected ';' after 'include \"a.h\"', found the end of the file"},
    {"include \"a.h;", "1:9: this string has no closing '\"' in its line"},
    {"include <a.h;\n", "1:9: this '<' has no '>' in its line"},
    {"include \"\";", "1:9: this name of a file is empty"},
    {"include <>;", "1:9: this name of a file is empty"},
    {"include \"a\tb\";", "1:9: this name of a file has a control character"},
    {"define N;", "1:1: expected 'Module', 'Declare', 'const' or 'include', found 'define'"},
    {"S1: const N = 1;", "1:1: 'S1:' is not part of the language; only 'flow:', 'Input:' and 'Output:' are, inside of a module"},
    {"Input: const N = 1;", "1:1: 'Input:' is not part of the language; only 'flow:', 'Input:' and 'Output:' are, inside of a module"},
    {";", "1:1: this ';' ends nothing; leave it out"},
    {"}", "1:1: this '}' closes nothing; leave it out"},
    {"{ const N = 1; }", "1:1: expected 'Module', 'Declare', 'const' or 'include', found '{'"},
    {"@", "1:1: expected 'Module', 'Declare', 'const' or 'include', found '@'"},
    {"$ const N = 1;", "1:1: '$' is not a character of the language"},
    {"const N = 1 $;", "1:13: '$' is not a character of the language"},
    {"const \303\251 = 1;", "1:7: '\303\251' is not a character of the language\n1:9: expected the name of a constant after 'const', found '='"},
    {"const N\001 = 1;", "1:8: '?' is not a character of the language"},
    {"const N = 1; /* no end", "1:14: this comment has no end; close it with */"},
    {"/*", "1:1: this comment has no end; close it with */"},
    {"\"abc\"", "1:1: expected 'Module', 'Declare', 'const' or 'include', found '\"abc\"'"},
    {"\"abc", "1:1: this string has no closing '\"' in its line\n1:1: expected 'Module', 'Declare', 'const' or 'include', found '\"abc'"},
    {"|||", "1:1: expected 'Module', 'Declare', 'const' or 'include', found '|||'"},
    {"modul", "1:1: expected 'Module', 'Declare', 'const' or 'include', found 'modul'; did you mean 'Module'?\n1:6: expected the name of a module after 'modul', found the end of the file"},
    {"module M is Root { }", "1:1: expected 'Module', 'Declare', 'const' or 'include', found 'module'; did you mean 'Module'?"},
    {"Module", "1:7: expected the name of a module after 'Module', found the end of the file"},
    {"Module { }", "1:8: expected the name of a module after 'Module', found '{'"},
    {"Module is Root { }", "1:8: 'is' is a word of the language and cannot be the name of a module"},
    {"Module 5 is Root { }", "1:8: expected the name of a module after 'Module', found '5'"},
    {"Module int is Root { }", "1:8: 'int' is a word of C and cannot be the name of a module"},
    {"Module M", "1:9: expected 'is' after 'Module M', found the end of the file"},
    {"Module M;", "1:9: expected 'is' after 'Module M', found ';'"},
    {"Module M are Root { }", "1:10: expected 'is' after 'Module M', found 'are'"},
    {"Module M is { }", "1:13: expected 'Root' after 'Module M is', found '{'"},
    {"Module M is root { A a; }", "1:13: expected 'Root' after 'Module M is', found 'root'; did you mean 'Root'?"},
    {"Module M is Root", "1:17: expected 'requires' or '{' after 'Module M is Root', found the end of the file"},
    {"Module M is Root;", "1:17: expected 'requires' or '{' after 'Module M is Root', found ';'"},
    {"Module M is Root needs Module A { A a; }", "1:18: expected 'requires' or '{' after 'Module M is Root', found 'needs'"},
    {"Module M is Root require Module A { A a; }", "1:18: expected 'requires' or '{' after 'Module M is Root', found 'require'; did you mean 'requires'?"},
    {"Module M is Root requires { A a; }", "1:27: expected 'Module' after 'Module M is Root requires', found '{'"},
    {"Module M is Root requires A { A a; }", "1:27: expected 'Module' after 'Module M is Root requires', found 'A'"},
    {"Module M is Root requires A, B { A a; }", "1:27: expected 'Module' after 'Module M is Root requires', found 'A'\n1:30: expected 'Module' after 'Module M is Root requires A,', found 'B'"},
    {"Module M is Root requires module A { A a; }", "1:27: expected 'Module' after 'Module M is Root requires', found 'module'; did you mean 'Module'?"},
    {"Module M is Root requires Module { A a; }", "1:34: expected the name of a module after 'Module M is Root requires Module', found '{'"},
    {"Module M is Root requires Module A Module B { A a; }", "1:36: expected ',' or '{' after 'Module M is Root requires Module A', found 'Module'"},
    {"Module M is Root requires Module A, { A a; }", "1:37: expected 'Module' after 'Module M is Root requires Module A,', found '{'"},
    {"Module M is Root {", "1:19: expected '}', which ends 'Module M' of line 1, found the end of the file"},
    {"Module M is Root { A a;", "1:24: expected '}', which ends 'Module M' of line 1, found the end of the file"},
    {"Module M is Root { A a; flow: a -> b;\nDeclare Module A { }", "2:1: expected '}', which ends 'Module M' of line 1, found 'Declare'"},
    {"Module M is Root { void initialize() { A a;\n}", "2:2: expected '}' after initialize, which ends 'Module M' of line 1, found the end of the file"},
    {"Module M is Root { void initialize() { A a; }\nModule N is Root { }", "2:1: expected '}' after initialize, which ends 'Module M' of line 1, found 'Module'"},
    {"Module M is Root { void initialize() { } A a; }", "1:42: expected '}' after initialize, which ends 'Module M' of line 1, found 'A'"},
    {"Module M is Root { void initialize() { } void initialize() { } }", "1:42: expected '}' after initialize, which ends 'Module M' of line 1, found 'void'"},
    {"Module M is Root { void initialise() { A a; } }", "1:25: expected 'initialize' after 'void', found 'initialise'; did you mean 'initialize'?"},
    {"Module M is Root { void init() { A a; } }", "1:25: expected 'initialize' after 'void', found 'init'"},
    {"Module M is Root { void initialize { A a; } }", "1:36: expected '(' after 'void initialize', found '{'"},
    {"Module M is Root { void initialize(int x) { A a; } }", "1:36: expected ')' after 'void initialize(', found 'int'"},
    {"Module M is Root { void initialize() A a; }", "1:38: expected '{' after 'void initialize()', found 'A'"},
    {"Module M is Root { A a; void initialize() { } }", "1:25: in a root, only queues stand before 'void initialize()', and nothing stands after it"},
    {"Module M is Root { A a; in double; flow: }", "1:25: the queues of a root stand before all else in it"},
    {"Module M is Root { data_section { int x; } }", "1:20: a root does not run, so it has no 'data_section'; 'Declare Module' has"},
    {"Module M is Root { weight 3; }", "1:20: a root does not run, so it has no 'weight'; 'Declare Module' has"},
    {"Module M is Root { A a }", "1:24: expected ';' after 'A a', found '}'"},
    {"Module M is Root { A a\nB b; }", "1:23: expected ';' after 'A a', found 'B'"},
    {"Module M is Root { A a B b; }", "1:24: expected ';' after 'A a', found 'B'"},
    {"Module M is Root { A ; }", "1:22: expected the name of an instance after 'A', found ';'"},
    {"Module M is Root { A a[; }", "1:24: expected a number or a constant after 'A a[', found ';'"},
    {"Module M is Root { A a[]; }", "1:24: expected a number or a constant after 'A a[', found ']'"},
    {"Module M is Root { A a[4; }", "1:25: expected ']' after 'A a[4', found ';'"},
    {"Module M is Root { A a[4][4]; }", "1:26: vectors have one dimension; 'a' has two"},
    {"Module M is Root { A a, ; }", "1:25: expected the name of an instance after 'A a,', found ';'"},
    {"Module M is Root { A a(3); }", "1:24: parameters have names, as in 'a(port = 7000)'"},
    {"Module M is Root { A a(); }", "1:24: parameters have names, as in 'a(port = 7000)'"},
    {"Module M is Root { A a(b = \"c d\"); }", "1:28: the text of a parameter has letters, digits, '-', '_', '.', ':', '*' and '%'"},
    {"Module M is Root { A a(b = 1; }", "1:29: expected ',' or ')' after 'A a(b = 1', found ';'"},
    {"Module M is Root { A a = 3; }", "1:24: an instance takes no value: use its module's init, or flow_const"},
    {"Module M is Root { A in; }", "1:22: 'in' is a word of the language and cannot be the name of an instance"},
    {"Module M is Root { A flow; }", "1:22: 'flow' is a word of the language and cannot be the name of an instance"},
    {"Module M is Root { A int; }", "1:22: 'int' is a word of C and cannot be the name of an instance"},
    {"Module M is Root { int a; }", "1:20: 'int' is a word of C and cannot be the name of a module"},
    {"Module M is Root { A a; ; flow: }", "1:25: this ';' ends nothing; leave it out"},
    {"Module M is Root { 5; }", "1:20: expected the name of a module, 'flow:' or '}', found '5'"},
    {"Module M is Root { a -> b; }", "1:20: wires and places stand after 'flow:', and no 'flow:' stands before this line"},
    {"Module M is Root { a -> b; c -> d; flow: }", "1:20: wires and places stand after 'flow:', and no 'flow:' stands before this line"},
    {"Module M is Root { a @ 3; flow: }", "1:20: wires and places stand after 'flow:', and no 'flow:' stands before this line"},
    {"Module M is Root { flow: A a; }", "1:26: 'A a' declares an instance; instances stand before 'flow:', which is in line 1"},
    {"Module M is Root { flow: flow: }", "1:26: 'flow:' stands in line 1 already"},
    {"Module M is Root { flow a -> b; }", "1:25: expected ':' after 'flow', found 'a'"},
    {"Module M is Root { flow; }", "1:24: expected ':' after 'flow', found ';'"},
    {"Module M is Root { Flow: a -> b; }", "1:20: expected 'flow:', found 'Flow'; did you mean 'flow:'?"},
    {"Module M is Root { fow: a -> b; }", "1:20: expected 'flow:', found 'fow'; did you mean 'flow:'?"},
    {"Module M is Root { S5: flow: a -> b; }", "1:20: 'S5:' is not part of the language; only 'flow:' is"},
    {"Module M is Root { flow: a; }", "1:27: expected '|||', '->', '=>' or '@' after 'a', found ';'"},
    {"Module M is Root { flow: a -> ; }", "1:31: expected an instance after 'a ->', found ';'"},
    {"Module M is Root { flow: -> a; }", "1:26: expected an instance or '}', found '->'"},
    {"Module M is Root { flow: a b; }", "1:26: 'a b' declares an instance; instances stand before 'flow:', which is in line 1"},
    {"Module M is Root { flow: a -> b }", "1:33: expected ';' after 'a -> b', found '}'"},
    {"Module M is Root { flow: a -> b\nc -> d; }", "1:32: expected ';' after 'a -> b', found 'c'"},
    {"Module M is Root { flow: a | b; }", "1:28: expected '|||' after 'a', found '|'"},
    {"Module M is Root { flow: a || b; }", "1:28: expected '|||' after 'a', found '||'"},
    {"Module M is Root { flow: a |||| b; }", "1:28: expected '|||' after 'a', found '||||'"},
    {"Module M is Root { flow: a > b; }", "1:28: expected '|||', '->', '=>' or '@' after 'a', found '>'"},
    {"Module M is Root { flow: a - b; }", "1:28: expected '|||', '->', '=>' or '@' after 'a', found '-'"},
    {"Module M is Root { flow: a = b; }", "1:28: expected '|||', '->', '=>' or '@' after 'a', found '='"},
    {"Module M is Root { flow: a >> b; }", "1:28: expected '|||', '->', '=>' or '@' after 'a', found '>'"},
    {"Module M is Root { flow: a, -> b; }", "1:29: expected an instance after 'a,', found '->'"},
    {"Module M is Root { flow: a[ -> b; }", "1:29: expected a number or a constant after 'a[', found '->'"},
    {"Module M is Root { flow: a[] -> b; }", "1:28: a slice names both of its ends, which are included: 'a[0:3]', or 'a' for all"},
    {"Module M is Root { flow: a[:2] -> b; }", "1:28: a slice names both of its ends, which are included: 'a[0:3]', or 'a' for all"},
    {"Module M is Root { flow: a[1:] -> b; }", "1:30: a slice names both of its ends, which are included: 'a[0:3]', or 'a' for all"},
    {"Module M is Root { flow: a[1:2:] -> b; }", "1:32: a slice names both of its ends, which are included: 'a[0:3]', or 'a' for all"},
    {"Module M is Root { flow: a[1:2:3:4] -> b; }", "1:33: expected ']' after 'a[1:2:3', found ':'"},
    {"Module M is Root { flow: a[1..2] -> b; }", "1:29: expected ':' or ']' after 'a[1', found '.'"},
    {"Module M is Root { flow: a[1,2] -> b; }", "1:29: expected ':' or ']' after 'a[1', found ','"},
    {"Module M is Root { flow: a. -> b; }", "1:29: expected the name of a queue after 'a.', found '->'"},
    {"Module M is Root { flow: a.q[1] -> b; }", "1:29: 'q' is a queue of 'a' and has no parts; subscripts follow instances, as in 'a[0:3].q'"},
    {"Module M is Root { flow: a[0].p.q -> b; }", "1:32: 'p' is a queue of 'a' and has no parts; subscripts follow instances, as in 'a[0:3].p'"},
    {"Module M is Root { flow: a() -> b; }", "1:28: expected an operation such as sum after 'a(', found ')'"},
    {"Module M is Root { flow: a(sum -> b; }", "1:32: expected ')' after 'a(sum', found '->'"},
    {"Module M is Root { flow: a(+) -> b; }", "1:28: expected an operation such as sum after 'a(', found '+'"},
    {"Module M is Root { flow: a(sum)[1] -> b; }", "1:32: the operation stands last: 'a[0](sum)', not 'a(sum)[0]'"},
    {"Module M is Root { flow: a(sum).q -> b; }", "1:32: the operation stands last: 'a[0](sum)', not 'a(sum)[0]'"},
    {"Module M is Root { flow: a -> int; }", "1:31: 'int' is a word of C and cannot be an instance"},
    {"Module M is Root { flow: a -> b @ host1; }", "1:33: a place is a statement of its own, such as 'p[0:3] @ host1;', and not part of a wire"},
    {"Module M is Root { flow: a.q @ host1; }", "1:30: instances have places, queues and operations have none: write 'a' without '.q'"},
    {"Module M is Root { flow: a(sum) @ host1; }", "1:33: instances have places, queues and operations have none: write 'a' without '(sum)'"},
    {"Module M is Root { flow: a @ ; }", "1:30: expected a host or the number of a place after 'a @', found ';'"},
    {"Module M is Root { flow: a @ host1: ; }", "1:37: expected a number or a constant after 'a @ host1:', found ';'"},
    {"Module M is Root { flow: a @ host1 host2; }", "1:36: expected ';' after 'a @ host1', found 'host2'"},
    {"Module M is Root { flow: a @ \"no host\"; }", "1:30: a host's name has letters, digits, '-', '_' and '.'"},
    {"Module M is Root { flow: a @ \"\"; }", "1:30: a host's name has letters, digits, '-', '_' and '.'"},
    {"Module M is Root { flow: a @ \"h; }", "1:30: this string has no closing '\"' in its line\n1:30: a host's name has letters, digits, '-', '_' and '.'\n1:35: expected '}', which ends 'Module M' of line 1, found the end of the file"},
    {"Module M is Root { flow: a @ node.org; }", "1:34: a host's name that has a '.' or '-' is quoted: \"node-3.cluster\""},
    {"Module A { void run() { char c = '}'; } }\nconst N = ;", "1:8: module A is not a root, so its code belongs in a C file: A.c, with the function A_run; queues and data stand in 'Declare Module A { ... }'\n2:11: expected a number or a constant after 'const N =', found ';'"},
    {"Module A {", "1:8: module A is not a root, so its code belongs in a C file: A.c, with the function A_run; queues and data stand in 'Declare Module A { ... }'"},
    {"Declare", "1:8: expected 'Module' or 'Operation' after 'Declare', found the end of the file"},
    {"Declare A { }", "1:9: expected 'Module' or 'Operation' after 'Declare', found 'A'"},
    {"Declare Modul A { in double *a; }", "1:9: expected 'Module' or 'Operation' after 'Declare', found 'Modul'; did you mean 'Module'?\n1:29: a payload holds values, not pointers: write 'double' without '*'"},
    {"Declare Module", "1:15: expected the name of a module after 'Declare Module', found the end of the file"},
    {"Declare Module { }", "1:16: expected the name of a module after 'Declare Module', found '{'"},
    {"Declare Module A", "1:17: expected '{' after 'Declare Module A', found the end of the file"},
    {"Declare Module A;", "1:17: expected '{' after 'Declare Module A', found ';'"},
    {"Declare Module A {", "1:19: expected '}', which ends 'Declare Module A' of line 1, found the end of the file"},
    {"Declare Module A { in double;", "1:30: expected '}', which ends 'Declare Module A' of line 1, found the end of the file"},
    {"Declare Module A { in double;\nModule M is Root { }", "2:1: expected '}', which ends 'Declare Module A' of line 1, found 'Module'"},
    {"Declare Module A { in double; };", "1:32: this ';' ends nothing; leave it out"},
    {"Declare Module A { ; }", "1:20: this ';' ends nothing; leave it out"},
    {"Declare Module A { void run() { x(); } }", "1:20: code of module A belongs in a C file: A.c, with A_run"},
    {"Declare Module A { int x; }", "1:20: expected 'in', 'out', 'Input', 'Output', 'data_section', 'weight' or '}', found 'int'"},
    {"Declare Module A { inn double; }", "1:20: expected 'in', 'out', 'Input', 'Output', 'data_section', 'weight' or '}', found 'inn'"},
    {"Declare Module A { input double; }", "1:20: expected 'in', 'out', 'Input', 'Output', 'data_section', 'weight' or '}', found 'input'; did you mean 'Input'?"},
    {"Declare Module A { weigth 3; in double *a; }", "1:20: expected 'in', 'out', 'Input', 'Output', 'data_section', 'weight' or '}', found 'weigth'; did you mean 'weight'?\n1:40: a payload holds values, not pointers: write 'double' without '*'"},
    {"Declare Module A { weight; }", "1:26: expected a number or a constant after 'weight', found ';'"},
    {"Declare Module A { weight 3 in double; }", "1:29: expected ';' after 'weight 3', found 'in'"},
    {"Declare Module A { weight 3; weight 4; }", "1:30: module A has a weight already, in line 1"},
    {"Declare Module A { data_section; }", "1:32: expected '{' after 'data_section', found ';'"},
    {"Declare Module A { data_section { int x; }", "1:43: expected '}', which ends 'Declare Module A' of line 1, found the end of the file"},
    {"Declare Module A { data_section { int x; /* } } }", "1:20: this data section has no end: its '{' has no '}'"},
    {"Declare Module A { data_section { } data_section { } in *; }", "1:37: module A has a data section already, in line 1\n1:57: expected a type after 'in', found '*'"},
    {"Declare Module A { Input Queue a; }", "1:32: expected 'is' after 'Input Queue', found 'a'"},
    {"Declare Module A { Input Queu is a; }", "1:26: expected 'Queue' after 'Input', found 'Queu'; did you mean 'Queue'?"},
    {"Declare Module A { Input a; }", "1:26: expected 'Queue' after 'Input', found 'a'"},
    {"Declare Module A { Input Queue is; }", "1:34: expected the name of a queue after 'Input Queue is', found ';'"},
    {"Declare Module A { Input Queue is out; }", "1:35: 'out' is a word of the language and cannot be the name of a queue"},
    {"Declare Module A { Input Queue is int; }", "1:35: 'int' is a word of C and cannot be the name of a queue"},
    {"Declare Module A { in; }", "1:22: expected a type after 'in', found ';'"},
    {"Declare Module A { in double out; }", "1:30: 'out' is a word of the language and cannot be the name of a queue"},
    {"Declare Module A { in double a b; }", "1:32: expected ';' after 'in double a', found 'b'"},
    {"Declare Module A { in double *a; }", "1:30: a payload holds values, not pointers: write 'double' without '*'"},
    {"Declare Module A { in void *a; }", "1:28: a payload holds values, not pointers: write 'void' without '*'"},
    {"Declare Module A { in const double a; }", "1:23: a payload's values belong to whoever has it: 'const' says nothing here"},
    {"Declare Module A { in double const; }", "1:30: 'const' is a word of C and cannot be the name of a queue"},
    {"Declare Module A { in volatile double a; }", "1:23: a payload's values belong to whoever has it: 'volatile' says nothing here"},
    {"Declare Module A { in unsigned double a; }", "1:23: 'unsigned double' is not a type of C"},
    {"Declare Module A { in long long long a; }", "1:23: 'long long long' is not a type of C"},
    {"Declare Module A { in long long long long long long long long long a; }", "1:23: 'long long long long long long long long long' is not a type of C"},
    {"Declare Module A { in struct; }", "1:29: expected the name of a type after 'in struct', found ';'"},
    {"Declare Module A { in struct 5; }", "1:30: expected the name of a type after 'in struct', found '5'"},
    {"Declare Module A { in double a[4]; }", "1:32: an element has as many values as its sender says: write '[]', and 'cap' for how many elements the queue holds"},
    {"Declare Module A { in double a[N]; }", "1:32: an element has as many values as its sender says: write '[]', and 'cap' for how many elements the queue holds"},
    {"Declare Module A { in double a[; }", "1:32: expected ']' after 'in double a[', found ';'"},
    {"Declare Module A { in double a cap; }", "1:35: expected a number or a constant after 'in double a cap', found ';'"},
    {"Declare Module A { in double a cap 3 cap 4; }", "1:38: 'cap' stands twice"},
    {"Declare Module A { in double a optional optional; }", "1:41: 'optional' stands twice"},
    {"Declare Module A { in double a optionl; }", "1:32: expected 'cap', 'optional' or ';' after 'in double a', found 'optionl'; did you mean 'optional'?"},
    {"Declare Module A { in double a, b; }", "1:31: expected ';' after 'in double a', found ','"},
    {"Declare Module A { in double a = 3; }", "1:32: expected ';' after 'in double a', found '='"},
    {"Declare Operation", "1:18: expected the name of an operation after 'Declare Operation', found the end of the file"},
    {"Declare Operation f;", "1:20: expected '(' and the type of its values after 'Declare Operation f', found ';'"},
    {"Declare Operation f();", "1:21: expected a type after 'Declare Operation f(', found ')'"},
    {"Declare Operation f(void);", "1:21: operation f needs the type of its values, not 'void'"},
    {"Declare Operation f(double *);", "1:28: a payload holds values, not pointers: write 'double' without '*'"},
    {"Declare Operation f(double;", "1:27: expected ')' after 'Declare Operation f(double', found ';'"},
    {"Declare Operation f(double) orderd;", "1:29: expected 'ordered' or ';' after 'Declare Operation f(double)', found 'orderd'; did you mean 'ordered'?"},
    {"Declare Operation f(double)", "1:28: expected ';' after 'Declare Operation f(double)', found the end of the file"},
    {"Declare Operation sizeof(double);", "1:19: 'sizeof' is a word of C and cannot be the name of an operation"},
    {"Module M is Root { A a /* open", "1:24: this comment has no end; close it with */"},
    {"Module M is Root { 5 /* open ; }", "1:20: expected the name of a module, 'flow:' or '}', found '5'\n1:22: this comment has no end; close it with */"},
    {"Module M is Root { flow: a @ \"h\" ; a @ \"h", "1:40: this string has no closing '\"' in its line\n1:42: expected ';' after 'a @ \"h', found the end of the file\n1:42: expected '}', which ends 'Module M' of line 1, found the end of the file"},
};
// clang-format on

static void try_wrong(const char *text, size_t size, const char *said)
{
    about = text;
    mlt_flow_messages messages = {0};
    mlt_flow_file *file = read_bytes(text, size, &messages);
    char *found = said_of(&messages);
    check_same_text("said", found, said);
    CHECK(messages.errors && !messages.warnings);
    free(found);
    mlt_flow_messages_free(&messages);
    mlt_flow_file_free(file);
}

// ---- lines

static void try_lines(void)
{
    mlt_flow_file *file = read_right("const N =\n 1\n + 2;\n"              // 1 to 3
                                     "Declare Operation\n f(int);\n"       // 4, 5
                                     "Declare Module\n A {\n"              // 6, 7
                                     "data_section\n { int\n x; }\n"       // 8 to 10
                                     "in double\n q; weight\n 3;\n}\n"     // 11 to 14
                                     "/*\n*/ Module\n M is Root\n"         // 15 to 17
                                     "requires Module A,\n Module B {\n"   // 18, 19
                                     "in int;\n const K = 1; A a,\n b;\n"  // 20 to 22
                                     "flow: a\n -> b,\n c; a @\n 3; }\n"); // 23 to 26
    const mlt_flow_const *c = file->consts;
    CHECK(c->line == 1 && c->value->line == 3 && c->value->left->line == 2);
    CHECK(file->operations->line == 5);
    const mlt_flow_declaration *module = file->declarations;
    CHECK(module->line == 7 && module->data_line == 9 && strcmp(module->data, " int\n x; ") == 0);
    CHECK(module->queues->line == 11 && module->weight->line == 13);
    const mlt_flow_root_item *root = file->roots;
    CHECK(root->line == 17 && root->required_lines[0] == 18 && root->required_lines[1] == 19);
    CHECK(root->queues->line == 20);
    const mlt_flow_statement *s = root->statements;
    CHECK(s->line == 21 && s->constant->line == 21 && (s = s->next)->line == 21);
    CHECK((s = s->next)->line == 22 && (s = s->next)->line == 23);
    CHECK(s->stages->line == 23 && s->stages->next->line == 24);
    CHECK(s->stages->next->parts->line == 24 && s->stages->next->parts->next->line == 25);
    CHECK((s = s->next)->line == 25 && s->place->line == 26 && !s->next);
    mlt_flow_file_free(file);
}

// ---- limits

// "const N = " and `count` times `again`, then `last`.
static char *repeated(const char *first, const char *again, size_t count, const char *last)
{
    size_t a = strlen(first), b = strlen(again), c = strlen(last);
    char *text = malloc(a + b * count + c + 1);
    CHECK(text);
    memcpy(text, first, a);
    for (size_t i = 0; i < count; i++)
        memcpy(text + a + i * b, again, b);
    memcpy(text + a + count * b, last, c + 1);
    return text;
}

static void try_repeated(const char *first, const char *again, size_t count, const char *last,
                         const char *said)
{
    char *text = repeated(first, again, count, last);
    if (said)
        try_wrong(text, strlen(text), said);
    else
        mlt_flow_file_free(read_right(text));
    free(text);
}

static void try_limits(void)
{
    const char *deep = "1:111: this expression is nested more than 100 deep";
    try_repeated("const N = ", "-", 100, "1;", NULL);
    try_repeated("const N = ", "-", 101, "1;", deep);
    try_repeated("const N = ", "-", 1000000, "1;", deep);
    try_repeated("const N = ", "(", 1000000, "1;", deep);
    try_repeated("const N = 1", " + 1", 500, ";", NULL);
    try_repeated("const N = 1", " + 1", 501, ";",
                 "1:2013: this expression has more than 500 operators");
    try_repeated("const N = 1", " * 1", 100000, ";",
                 "1:2013: this expression has more than 500 operators");
    try_repeated("const ", "N", 100, " = 1;", NULL);
    try_repeated("const ", "N", 101, " = 1;",
                 "1:7: 'NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN...' has 101 "
                 "letters; a name has at most 100");
    try_repeated("Declare Module A { data_section {", "{", 100000, "",
                 "1:20: this data section has no end: its '{' has no '}'");
    try_repeated("define ", "{ ", 100000, "",
                 "1:1: expected 'Module', 'Declare', 'const' or 'include', found 'define'");
    try_repeated("Module M is Root { A a; flow: a", " -> a", 10000, "; }", NULL);
    try_repeated("Declare Module A { data_section {", "int a; ", 10000, "} }", NULL);
    try_repeated("", "include <a>; ", 1000, "", NULL);
    try_repeated("Module M is Root requires Module A", ", Module A", 1000, " { }", NULL);
    // What is quoted is the end of what was read, in one line.
    try_repeated("Module M is Root { flow: a", " /* no */ ->\n  abc", 1000, " }",
                 "1001:7: expected ';' after '... -> abc -> abc -> abc -> abc -> abc -> abc -> "
                 "abc', found '}'");
    // At most 20 errors.
    char *text = repeated("", ";\n", 100, "");
    mlt_flow_messages messages = {0};
    mlt_flow_file *file = read_bytes(text, strlen(text), &messages);
    CHECK(messages.errors == 20 && messages.last->line == 20);
    mlt_flow_file_free(file);
    free(text);
    // The 20th may be about a token, wherever it stands.
    static const char *const tokens[] = {"$", "\"a", "012", "1.5", "/*", "99999999999999999999"};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        mlt_flow_messages_free(&messages);
        text = repeated("", ";\n", 19, tokens[i]);
        mlt_flow_file_free(read_bytes(text, strlen(text), &messages));
        CHECK(messages.errors == 20 && messages.last->line == 20);
        free(text);
    }
    mlt_flow_messages_free(&messages);
    mlt_flow_file_free(NULL);
}

// Sentences have room for the longest names: each '%' is one.
static void try_long_names(void)
{
    static const char *const texts[] = {"Module M is Root { flow: %.%[1] -> b; }",
                                        "Module M is Root { flow: %(%)[1] -> b; }",
                                        "Module M is Root { flow: %[:2] -> b; }",
                                        "Module M is Root { flow: %.% @ 3; }",
                                        "Module M is Root { flow: % %; }",
                                        "Module M is Root { % %[1][2]; }",
                                        "Module % { }",
                                        "Module % is Root { % %",
                                        "Module % is Root { void initialize() { } %",
                                        "Declare Module % { void run() { } }",
                                        "Declare Module % { in % *%; }",
                                        "Declare Module % {",
                                        "Declare Module % { weight 1; weight 2; }",
                                        "Declare Module % { data_section { } data_section { } }",
                                        "Declare Operation %(void);",
                                        "%: const % = % % %;",
                                        "% %"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char all[1000] = "";
        for (const char *c = texts[i]; *c; c++)
            sprintf(all + strlen(all), "%.*s", *c == '%' ? 100 : 1,
                    *c == '%' ? "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
                                "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
                              : c);
        about = all;
        mlt_flow_messages messages = {0};
        mlt_flow_file_free(read_bytes(all, strlen(all), &messages));
        CHECK(messages.errors);
        for (const mlt_flow_message *m = messages.first; m; m = m->next)
            CHECK(strlen(m->text) < sizeof m->text - 1);
        mlt_flow_messages_free(&messages);
    }
}

// ---- messages

static void try_messages(void)
{
    mlt_flow_messages messages = {0};
    mlt_flow_say(&messages, 3, 0, MLT_FLOW_WARNING, "%s is %d", "a", 1);
    mlt_flow_say(&messages, 1, 2, MLT_FLOW_ERROR, "%0*d", 1000, 0); // longer than there is room
    CHECK(messages.errors == 1 && messages.warnings == 1);
    CHECK(messages.first->line == 3 && messages.first->column == 0 && messages.first->warning);
    CHECK(strcmp(messages.first->text, "a is 1") == 0 && messages.first->next == messages.last);
    CHECK(strlen(messages.last->text) == sizeof messages.last->text - 1);
    mlt_flow_messages_free(&messages);
    CHECK(!messages.first && !messages.last && !messages.errors && !messages.warnings);
    mlt_flow_messages_free(&messages);
}

// ---- every beginning of a text, and every text with a character fewer or another one

static void try_broken(const char *text)
{
    size_t size = strlen(text);
    char *copy = malloc(size + 1);
    CHECK(copy);
    mlt_flow_messages messages = {0};
    for (size_t i = 0; i < size; i++) {
        mlt_flow_file_free(read_bytes(text, i, &messages));
        memcpy(copy, text, i);
        memcpy(copy + i, text + i + 1, size - i - 1);
        mlt_flow_file_free(read_bytes(copy, size - 1, &messages));
        memcpy(copy, text, size);
        for (const char *c = "};{\"|(x"; *c; c++) {
            copy[i] = *c;
            mlt_flow_file_free(read_bytes(copy, size, &messages));
        }
        CHECK(messages.errors <= 9 * 20);
        mlt_flow_messages_free(&messages);
    }
    free(copy);
}

// The same as the last errors that are told: reading ends in the middle of anything.
static void try_last(const char *text)
{
    for (size_t before = 17; before < 20; before++) {
        mlt_flow_messages messages = {0};
        char *all = repeated("", ";", before, text);
        about = all;
        mlt_flow_file_free(read_bytes(all, strlen(all), &messages));
        CHECK(messages.errors > before && messages.errors <= 20);
        mlt_flow_messages_free(&messages);
        free(all);
    }
}

// ---- the document

static char *slurp(const char *name)
{
    char path[500];
    snprintf(path, sizeof path, MLT_SOURCE_DIR "/%s", name);
    FILE *file = fopen(path, "r");
    if (!file)
        fprintf(stderr, "%s cannot be opened\n", path);
    CHECK(file);
    char *text = NULL;
    size_t room = 0;
    CHECK(getdelim(&text, &room, 0, file) > 0);
    fclose(file);
    return text;
}

static bool readable(const char *before, const char *text, size_t size, const char *behind)
{
    size_t b = strlen(before), e = strlen(behind);
    char *all = malloc(b + size + e + 1);
    CHECK(all);
    memcpy(all, before, b);
    memcpy(all + b, text, size);
    memcpy(all + b + size, behind, e + 1);
    mlt_flow_messages messages = {0};
    mlt_flow_file_free(read_bytes(all, b + size + e, &messages));
    bool good = !messages.errors;
    mlt_flow_messages_free(&messages);
    free(all);
    return good;
}

// Each block ```flow is a file, items of a module, statements of a root, or wires.
static void try_document(void)
{
    static const char *const around[][2] = {{"", ""},
                                            {"Declare Module A {\n", "\n}"},
                                            {"Module A is Root {\n", "\n}"},
                                            {"Module A is Root {\nflow:\n", "\n}"}};
    char *text = slurp("docs/reference/flow-language.md");
    size_t count = 0;
    for (char *at = text, *end; (at = strstr(at, "\n```flow\n")); at = end, count++) {
        at += strlen("\n```flow\n");
        end = strstr(at, "\n```");
        CHECK(end);
        *end++ = 0;
        about = at;
        bool good = false;
        for (size_t i = 0; i < sizeof around / sizeof *around; i++)
            good |= readable(around[i][0], at, strlen(at), around[i][1]);
        CHECK(good && "this block of docs/reference/flow-language.md can be read");
    }
    about = "docs/reference/flow-language.md";
    CHECK(count >= 10);
    free(text);
}

int main(void)
{
    tell_more = tell_text;
    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++)
        try_right(&rights[i]);
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        try_wrong(wrongs[i].text, strlen(wrongs[i].text), wrongs[i].said);
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        try_last(wrongs[i].text);
    static const char zero[] = "Declare Module A { data_section { \n\0 } in *; }\0";
    try_wrong(zero, sizeof zero - 1,
              "2:1: a data section is text; here is a byte 0\n"
              "2:8: expected a type after 'in', found '*'\n"
              "2:12: '?' is not a character of the language");
    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++)
        try_broken(rights[i].text);
    try_lines();
    try_limits();
    try_long_names();
    try_messages();
    try_document();
    printf("%zu right texts, %zu wrong ones\n", sizeof rights / sizeof *rights,
           sizeof wrongs / sizeof *wrongs);
    return 0;
}
