/* The systolic array: a row for each output channel, a column for each input channel. A word enters
 * all columns; each row adds up its products in chains of DSP slices, or counts the bits that planes of
 * its weights and of the word share, and keeps one sum. */
#include "engine.h"

/* Elements that both planes have. */
static ap_uint<16> count_common(const ap_uint<COLS> &a, const ap_uint<COLS> &b)
{
#pragma HLS inline
    const ap_uint<COLS> common = a & b;
    ap_uint<16> count = 0;
    for (int i = 0; i < COLS; i++) {
#pragma HLS unroll
        count += common[i];
    }
    return count;
}

/* 2^plane, or its negative for the highest plane of a number with a sign. */
static acc_t plane_weight(int plane, int planes, bool is_unsigned)
{
#pragma HLS inline
    const acc_t weight = acc_t(1) << plane;
    return plane == planes - 1 && !is_unsigned ? acc_t(-weight) : weight;
}

/* Sum over all columns of a row: bits that planes of activations and weights share, by the planes'
 * weights. A bipolar weight is 2 b - 1, so what all activations of the word add up to is taken away
 * once, from twice the count. */
static acc_t count_row(const ap_uint<COLS> acts[ACT_BITS], const ap_uint<COLS> weights[WEIGHT_BITS])
{
#pragma HLS inline
    const bool is_bipolar = WEIGHT_BITS == 1;
    acc_t sum = 0;
    for (int k = 0; k < ACT_BITS; k++) {
#pragma HLS unroll
        acc_t plane = 0;
        for (int l = 0; l < WEIGHT_BITS; l++) {
#pragma HLS unroll
            const acc_t count = count_common(acts[k], weights[l]);
            plane += is_bipolar ? acc_t(2 * count - count_common(acts[k], acts[k]))
                                : acc_t(count * plane_weight(l, WEIGHT_BITS, false));
        }
        sum += plane * plane_weight(k, ACT_BITS, ACT_IS_UNSIGNED);
    }
    return sum;
}

static Vector add_counts(Vector sums, const Word &word, const Column column[COLS], bool is_depthwise,
                         place_t first)
{
#pragma HLS inline
    ap_uint<COLS> acts[ACT_BITS] = {};
    for (int k = 0; k < ACT_BITS; k++)
        for (int i = 0; i < COLS; i++)
            acts[k][i] = word.lane[i][k];
rows:
    for (int j = 0; j < ROWS; j++) {
#pragma HLS unroll
        ap_uint<COLS> own[ACT_BITS], weights[WEIGHT_BITS] = {};
        for (int k = 0; k < ACT_BITS; k++)
            own[k] = is_depthwise ? ap_uint<COLS>(acts[k] & (ap_uint<COLS>(1) << int((first + j) % COLS)))
                                  : acts[k];
        for (int l = 0; l < WEIGHT_BITS; l++)
            for (int i = 0; i < COLS; i++)
                weights[l][i] = column[i].lane[j][l];
        sums.lane[j] += count_row(own, weights);
    }
    return sums;
}

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
            sums = IS_POPCOUNT ? add_counts(sums, word, column, is_depthwise, first)
                               : add_products(sums, word, column, is_depthwise, first);
        else
            take_lanes(sums, word, first, int(t));
    }
    return sums;
}

static void run(const Command &c, hls::stream<Tap> &taps, hls::stream<Word> &words,
                const Column pe[2][PE_WORDS][COLS], hls::stream<Vector> &sums)
{
    ENGINE_MEMORY(Vector, partial, [ACC_WORDS]);
#pragma HLS aggregate variable = partial compact = bit
#pragma HLS bind_storage variable = partial type = ram_s2p

    const bool is_pool = c.regs.mode == isa::MODE_POOL;
    const place_t window = place_t(c.regs.k_h) * c.regs.k_w;
    const place_t pixels = place_t(c.regs.out_h) * c.regs.out_w;
    const place_t times = is_pool ? window : place_t(1); /* vectors of a pixel */
    place_t count = VECTOR_WORDS, number = c.regs.acc_base;
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
