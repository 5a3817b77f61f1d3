/* A profile as a table and as JSON.
 * Tests: lit/driver/profile.test */
#include <math.h>

#include "driver/profile/internal.h"

/* The magnitudes that occur, as [*first, *end). */
static void find_range(const Statistics *s, int *first, int *end)
{
    *first = 0;
    *end = PROFILE_MAGNITUDES;
    while (*first < *end && s->magnitudes[*first] == 0) ++*first;
    while (*end > *first && s->magnitudes[*end - 1] == 0) --*end;
}

static double deviation(const Statistics *s)
{
    return sqrt(s->squares / (double)profile_finite(s));
}

/* "2^-7 .:+#- 2^-3": a character per power of two, the denser the more numbers are there. */
static void add_histogram(StrBuf *out, const Statistics *s)
{
    static const char shades[] = " .:-=+*#%@";
    enum { DARKEST = sizeof shades - 2 };
    int first, end;
    int64_t most = 1;
    find_range(s, &first, &end);
    if (first == end) return;
    for (int i = first; i < end; i++) most = i64_max(most, s->magnitudes[i]);
    strbuf_printf(out, "2^%d |", first + PROFILE_LEAST);
    for (int i = first; i < end; i++) {
        double share = (double)s->magnitudes[i] / (double)most;
        strbuf_add_char(out, shades[(int)ceil(share * DARKEST)]);
    }
    strbuf_printf(out, "| 2^%d", end - 1 + PROFILE_LEAST);
}

static void add_share(TextTable *table, bool is_known, int64_t part, int64_t whole)
{
    if (!is_known || whole == 0)
        text_table_add(table, "-");
    else
        strbuf_printf(text_table_cell(table), "%.2f", 100.0 * (double)part / (double)whole);
}

static void add_row(TextTable *table, const ProfileTensor *tensor)
{
    const Statistics *s = &tensor->s;
    const double figures[] = {s->least, s->greatest, s->mean, deviation(s)};
    strbuf_add_escaped(text_table_cell(table), tensor->name);
    text_table_add(table, tensor->is_constant ? "weight" : "activation");
    add_histogram(text_table_cell(table), s);
    for (size_t i = 0; i < COUNT_OF(figures); i++)
        if (profile_finite(s) > 0)
            strbuf_printf(text_table_cell(table), "%.4g", figures[i]);
        else
            text_table_add(table, "-");
    add_share(table, true, s->zeros, s->count);
    add_share(table, tensor->has_levels, s->saturated, s->count);
    text_table_add_int(table, s->strange);
}

void profile_print_text(const Profile *p, int64_t frames, StrBuf *out)
{
    static const char *const heads[] = {"tensor",      "kind",      "magnitudes", "min",
                                        "max",         "mean",      "std",        "zero %",
                                        "saturated %", "not finite"};
    TextTable table = {.columns = COUNT_OF(heads), .first_number = 3};
    for (size_t i = 0; i < COUNT_OF(heads); i++) text_table_add(&table, heads[i]);
    for (size_t i = 0; i < p->tensors.len; i++)
        if (p->tensors.data[i].s.count > 0) add_row(&table, &p->tensors.data[i]);
    text_table_print(&table, out);
    strbuf_printf(out, "%lld frames\n", (long long)frames);
    text_table_free(&table);
}

static void write_figure(JsonWriter *w, const char *key, bool is_known, double value)
{
    json_write_key(w, str_from(key));
    if (is_known && isfinite(value))
        json_write_number(w, "%.17g", value);
    else
        json_write_null(w);
}

static void write_tensor(JsonWriter *w, const ProfileTensor *tensor)
{
    const Statistics *s = &tensor->s;
    bool is_known = profile_finite(s) > 0;
    int first, end;
    find_range(s, &first, &end);
    json_write_line(w, 4);
    json_begin_object(w);
    json_member_string(w, "name", tensor->name);
    json_member_string(w, "kind", str_from(tensor->is_constant ? "weight" : "activation"));
    json_member_int(w, "elements", s->count);
    write_figure(w, "min", is_known, s->least);
    write_figure(w, "max", is_known, s->greatest);
    write_figure(w, "mean", is_known, s->mean);
    write_figure(w, "std", is_known, is_known ? deviation(s) : 0);
    json_member_int(w, "zeros", s->zeros);
    json_member_count(w, "saturated", tensor->has_levels ? s->saturated : -1);
    json_member_int(w, "not_finite", s->strange);
    json_member_int(w, "first_exponent", first == end ? 0 : first + PROFILE_LEAST);
    json_member_array(w, "magnitudes");
    for (int i = first; i < end; i++) json_write_int(w, s->magnitudes[i]);
    json_end_array(w);
    json_end_object(w);
}

void profile_print_json(const Profile *p, int64_t frames, StrBuf *out)
{
    JsonWriter w = {.out = out};
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_int(&w, "frames", frames);
    json_write_line(&w, 2);
    json_member_array(&w, "tensors");
    for (size_t i = 0; i < p->tensors.len; i++)
        if (p->tensors.data[i].s.count > 0) write_tensor(&w, &p->tensors.data[i]);
    json_write_line(&w, 2);
    json_end_array(&w);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
}
