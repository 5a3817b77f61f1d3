/* The systolic array: a row for each output channel, a column for each input channel. A word enters
 * all columns; each row adds up its products in chains of DSP slices, and keeps one sum. */
#include "engine.h"

/* In depthwise runs the products of a row are 0 but for the column of its own channel, first + j. */
static Vector add_products(Vector sums, const Word &word, const Column column[COLS], bool is_depthwise,
                           place_t first)
{
#pragma HLS inline
#pragma HLS expression_balance off
columns:
    for (int i = 0; i < COLS; i++) {
#pragma HLS unroll
    rows:
        for (int j = 0; j < ROWS; j++) {
#pragma HLS unroll
            const bool counts = !is_depthwise || i == int((first + j) % COLS);
            sums.lane[j] += (counts ? word.lane[i] : act_t(0)) * column[i].lane[j];
        }
    }
    return sums;
}

/* The lanes of a word that belong to the vector whose first channel is `first`. */
static void take_lanes(Vector &lanes, const Word &word, place_t first, int number)
{
#pragma HLS inline
    const int at = int(first % COLS);
lanes:
    for (int i = 0; i < VECTOR_LANES; i++) {
#pragma HLS unroll
        lanes.lane[number * VECTOR_LANES + i] = word.lane[(at + i) % COLS];
    }
}

static Word padding(const Command &c)
{
    Word word;
    for (int i = 0; i < COLS; i++)
        word.lane[i] = c.regs.pad_value;
    return word;
}

/* The sums of a vector, or the lanes of its only tap. */
static Vector add_taps(const Command &c, ap_uint<16> m, place_t count, Vector sums, hls::stream<Tap> &taps,
                       hls::stream<Word> &words, const Column pe[2][PE_WORDS][COLS])
{
    const Word outside = padding(c);
    const place_t first = place_t(m) * ROWS;
taps:
    for (place_t t = 0; t < count; t++) {
#pragma HLS pipeline II = 1
        const Tap tap = taps.read();
        const Word word = tap.is_inside ? words.read() : outside;
        const Column *column = pe[isa::run::half(c.word)][(c.regs.w_base + tap.weights) % PE_WORDS];
        const bool is_depthwise = c.regs.mode == isa::MODE_DEPTHWISE;
        if (c.regs.mode == isa::MODE_DENSE || is_depthwise)
            sums = add_products(sums, word, column, is_depthwise, first);
        else
            take_lanes(sums, word, first, int(t));
    }
    return sums;
}

static void run(const Command &c, hls::stream<Tap> &taps, hls::stream<Word> &words,
                const Column pe[2][PE_WORDS][COLS], hls::stream<Vector> &sums)
{
    static Vector partial[ACC_WORDS];
#pragma HLS aggregate variable = partial compact = bit
#pragma HLS bind_storage variable = partial type = ram_s2p

    const bool is_pool = c.regs.mode == isa::MODE_POOL;
    const place_t window = place_t(c.regs.k_h) * c.regs.k_w;
    const place_t pixels = place_t(c.regs.out_h) * c.regs.out_w;
    const place_t times = is_pool ? window : place_t(1); /* vectors of a pixel */
    place_t count = VECTOR_WORDS, number = 0;
    if (c.regs.mode == isa::MODE_DENSE)
        count = window * c.regs.in_cblk;
    if (c.regs.mode == isa::MODE_DEPTHWISE)
        count = window;

blocks:
    for (ap_uint<16> m = 0; m < c.regs.out_cblk; m++)
    pixels:
        for (place_t pixel = 0; pixel < pixels; pixel++, number++)
        vectors:
            for (place_t t = 0; t < times; t++) {
                Vector vector = {};
                if (!c.regs.c_first)
                    vector = partial[number % ACC_WORDS];
                vector = add_taps(c, m, count, vector, taps, words, pe);
                if (c.regs.c_last)
                    sums.write(vector);
                else
                    partial[number % ACC_WORDS] = vector;
            }
}

void array(CommandStream &commands, hls::stream<Tap> &taps, hls::stream<Word> &words,
           const Column pe[2][PE_WORDS][COLS], hls::stream<Vector> &sums, DoneStream &done)
{
commands:
    for (Command c = commands.read(); c.opcode != isa::END; c = commands.read()) {
        run(c, taps, words, pe, sums);
        done.write(true);
    }
}
