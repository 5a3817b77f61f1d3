/* Options by name: what `ming compile` and its fellows take on the command line, and what users of
 * libming set by the same names. A row says where a text goes and what it may be; the checks say
 * which values go together. Nothing here prints: what is wrong is appended to a StrBuf `why`.
 *
 *   rows of Flags ─▶ flag_set (a text to its target) ─▶ checks ─▶ options of the driver
 *
 * tools/ (the command line) and libming/ build on it.
 * Tests: lit/tools/command-line.mir, lit/driver, test/e2e/libming_check.py */
#ifndef MING_OPTIONS_OPTIONS_H
#define MING_OPTIONS_OPTIONS_H

#include "driver/driver.h"
#include "emit/emit.h"
#include "ir/support/support.h"

typedef enum FlagKind {
    FLAG_SWITCH,        /* target: bool */
    FLAG_INT,           /* target: int64_t */
    FLAG_UINT,          /* of 32 bits; target: int64_t */
    FLAG_TEXT,          /* target: const char * */
    FLAG_OPTIONAL_TEXT, /* --name or --name=text; target: const char *, set to `fallback` */
    FLAG_OPTIONAL_INT,  /* --name or --name=number; target: int64_t, set to that of `fallback` */
    FLAG_CHOICE,        /* one of the texts in `value`, "a|b"; target: const char * */
    FLAG_TEXTS          /* may be repeated, or items between commas (not behind \); target: Texts */
} FlagKind;

typedef struct Flag {
    const char *name; /* without dashes */
    FlagKind kind;
    void *target;
    const char *value; /* the value's word in --help; of a choice all of them */
    const char *help;  /* one line */
    const char *fallback;
} Flag;

/* A table of flags in the making. */
typedef VEC(Flag) Flags;
#define FLAGS_ADD(flags, ...)                                                                      \
    flags_add((flags), (const Flag[]){__VA_ARGS__}, COUNT_OF(((const Flag[]){__VA_ARGS__})))
void flags_add(Flags *flags, const Flag *rows, size_t count);

/* The row of that name, or NULL. */
const Flag *flag_find(const Flag *flags, size_t count, Str name);
/* Whether it is written with a value. */
bool flag_needs_value(const Flag *flag);
/* Puts a text into the target, which keeps pointing into it; a list is cut at its commas. value:
 * NULL where none is given. False: why says what the flag takes, as LLVM's tools word it. */
bool flag_set(const Flag *flag, char *value, StrBuf *why) MUST_CHECK;

/* Flags that fill the options of the driver. The options must live as long as the flags. */
void flags_add_device(Flags *flags, DeviceOptions *options);
void flags_add_search(Flags *flags, SearchOptions *options);
void flags_add_model(Flags *flags, ModelOptions *options);
void flags_add_quantize(Flags *flags, QuantizeOptions *options);

/* Whether the given options go together. False: why says what does not. Of search options fps is
 * LIMIT_NOT_GIVEN if it was not. */
bool flags_check_device(const DeviceOptions *options, StrBuf *why) MUST_CHECK;
bool flags_check_search(const SearchOptions *options, StrBuf *why) MUST_CHECK;
bool flags_check_quantize(const QuantizeOptions *options, StrBuf *why) MUST_CHECK;

/* The words in front of an error of the driver and behind it that tell a user which option it is
 * about. */
typedef struct FlagAdvice {
    const char *before, *behind;
} FlagAdvice;
FlagAdvice flag_advice(DriverErrorKind kind);

/* What `ming compile` takes, but for what it prints. */
typedef struct CompileFlags {
    const char *weights_interface; /* NULL: not given */
    const char *platform, *interface, *weights, *rewind, *style, *emit, *control, *primitives;
    bool knows_weights; /* `weights` is one of the words that say something */
    bool is_pooled;     /* a device's dies are one pool */
    Texts anchors;      /* "layer:die" */
    StrBuf anchor_list; /* the same as the driver takes them */
    int64_t max_text;
    DeviceOptions device;
    CardOptions cards;
    CompileOptions compile;
    ModelOptions model;
    QuantizeOptions quantize;
} CompileFlags;

void compile_flags_init(CompileFlags *options);
/* Frees the lists, not their texts. */
void compile_flags_free(CompileFlags *options);
/* In two parts, so that a tool can add some between them. */
void compile_flags_add(Flags *flags, CompileFlags *options);
void compile_flags_add_last(Flags *flags, CompileFlags *options);
/* After the flags are set and before the options are used: checks them, and sets what follows from
 * the words that were given. False: why says what is wrong. */
bool compile_flags_settle(CompileFlags *options, StrBuf *why) MUST_CHECK;

/* Whether the target has what the platform needs. False: why says what it lacks. */
bool compile_flags_check_target(const CompileFlags *options, const DeviceTarget *target,
                                StrBuf *why) MUST_CHECK;
/* Whether the files are installed that projects get copies of. False: why says where they are not. */
bool compile_flags_find_files(const CompileFlags *options, StrBuf *why) MUST_CHECK;
/* Makes the project of a compiled design: C++, and Verilog where that is asked for. Without a folder
 * it stays in memory. False: diagnosed, or what lacks is appended to *why. The caller frees
 * *project either way. */
bool compile_flags_emit(const CompileFlags *options, const char *folder, Op *design,
                        EmittedProject *project, StrBuf *why) MUST_CHECK;

#endif
