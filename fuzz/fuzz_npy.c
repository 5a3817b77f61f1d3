/* Fuzz target for .npy files: bytes that are taken are an array of the size that its shape says,
 * which prints and is read again as the same array; what is not taken has a reason. */
#include <string.h>

#include "fuzz/fuzz_support.h"
#include "sim/io/io.h"

static bool same_arrays(const Npy *a, const Npy *b)
{
    return a->kind == b->kind && a->item == b->item && a->rank == b->rank && a->count == b->count &&
           memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0 &&
           (a->count == 0 || memcmp(a->data, b->data, (size_t)a->count * a->item) == 0);
}

/* Reads every element. */
static double sum_of(const Npy *npy)
{
    double sum = 0;
    for (int64_t i = 0; i < npy->count; i++)
        sum += npy->kind == 'f' ? npy_get_f64(npy, i) : (double)npy_get_i64(npy, i);
    return sum;
}

void fuzz_npy(const uint8_t *data, size_t size)
{
    Npy first, second;
    StrBuf why = {0}, printed = {0};
    volatile double sum = 0;
    if (npy_parse((Str){(const char *)data, size}, &first, &why)) {
        sum = sum_of(&first);
        npy_print(&first, &printed);
        Str text = strbuf_str(&printed);
        fuzz_check(npy_parse(text, &second, &why), "the printed array is refused", text);
        fuzz_check(same_arrays(&first, &second), "the printed array is another one", text);
        npy_free(&first);
        npy_free(&second);
    } else {
        fuzz_check(why.len > 0, "a refused array without a reason", STR(""));
    }
    (void)sum;
    strbuf_free(&why);
    strbuf_free(&printed);
}
