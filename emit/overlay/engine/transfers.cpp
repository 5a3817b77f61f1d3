/* Between external memory and the buffers: runs of beats, in which words lie one behind the other,
 * the least lane and the least byte first. */
#include "engine.h"

/* Vectors of N elements of BITS bits, and the beats that they fill: one of them is one. */
template <int BITS, int N> struct Packing {
    static constexpr int BEATS = BITS * N > BEAT_BITS ? BITS *N / BEAT_BITS : 1;
    static constexpr int VECTORS = BITS * N < BEAT_BITS ? BEAT_BITS / (BITS * N) : 1;
    typedef ap_uint<BEATS * BEAT_BITS> bits_t;
};

template <int BITS, int N>
static typename Packing<BITS, N>::bits_t read_group(const beat_t *memory, place_t at)
{
#pragma HLS inline
    typename Packing<BITS, N>::bits_t bits = 0;
    for (int b = 0; b < Packing<BITS, N>::BEATS; b++)
        bits.range((b + 1) * BEAT_BITS - 1, b * BEAT_BITS) = memory[at + b];
    return bits;
}

template <int BITS, int N, class T>
static Lanes<T, N> unpack(const typename Packing<BITS, N>::bits_t &bits, int vector)
{
#pragma HLS inline
    Lanes<T, N> lanes;
    for (int i = 0; i < N; i++) {
#pragma HLS unroll
        const int low = (vector * N + i) * BITS;
        lanes.lane[i] = ap_uint<BITS>(bits.range(low + BITS - 1, low));
    }
    return lanes;
}

/* Calls put(number, lanes) for all vectors of a load. */
template <int BITS, int N, class T, class Put>
static void load(const Command &c, const beat_t *memory, ap_uint<28> address, Put put)
{
#pragma HLS inline
    typedef Packing<BITS, N> P;
    place_t number = 0;
runs:
    for (ap_uint<16> run = 0; run < c.regs.rows; run++) {
        const place_t first = address + place_t(run) * c.regs.row_stride;
    beats:
        for (ap_uint<17> beat = 0; beat + P::BEATS <= c.regs.beats; beat += P::BEATS) {
#pragma HLS pipeline
            const typename P::bits_t bits = read_group<BITS, N>(memory, first + beat);
            for (int v = 0; v < P::VECTORS; v++)
                put(place_t(number + v), unpack<BITS, N, T>(bits, v));
            number += P::VECTORS;
        }
    }
}

void load_a(CommandStream &commands, TokenStream &tokens, DoneStream &grants, const beat_t *maps,
            hls::stream<WriteRequest> &writes, DoneStream &flushed)
{
    WriteRequest request = {};
    request.enable = -1;
commands:
    for (Command c = commands.read(); c.opcode != isa::END; c = commands.read()) {
        begin(c, tokens, grants);
        if (c.opcode == isa::LOAD_A) {
            const place_t base = word_at(c.regs.act_page, c.regs.act_base);
            load<stored_bits(ACT_BITS), COLS, act_t>(c, maps, c.address[isa::BUFFER_ACTIVATIONS],
                                        [&](place_t number, const Word &word) {
                                            const ReadRequest at = read_at(base + number);
                                            request.page = at.page;
                                            request.word = at.word;
                                            request.data = word;
                                            writes.write(request);
                                        });
            WriteRequest flush = {};
            flush.is_flush = true;
            writes.write(flush);
            flushed.read();
        }
        finish(c, tokens);
    }
    WriteRequest end = {};
    end.is_end = true;
    writes.write(end);
    tokens.write(Token{TOKEN_END, 0});
}

static beat_t weight_beat(WEIGHT_PARAMETERS, place_t at)
{
#pragma HLS inline
#if WEIGHT_PORTS > 1
    if (at % WEIGHT_PORTS == 1)
        return weights_1[at / WEIGHT_PORTS];
#endif
#if WEIGHT_PORTS > 2
    if (at % WEIGHT_PORTS == 2)
        return weights_2[at / WEIGHT_PORTS];
    if (at % WEIGHT_PORTS == 3)
        return weights_3[at / WEIGHT_PORTS];
#endif
    return weights[at / WEIGHT_PORTS];
}

/* As many beats at a time as there are ports, or as a column takes. */
static void load_weights(const Command &c, WEIGHT_PARAMETERS, Column buffer[2][W_WORDS])
{
    typedef Packing<stored_bits(WEIGHT_BITS), ROWS> P;
    constexpr int STEP = WEIGHT_PORTS > P::BEATS ? WEIGHT_PORTS : P::BEATS;
    place_t number = c.regs.wb_base;
runs:
    for (ap_uint<16> run = 0; run < c.regs.rows; run++) {
        const place_t first = c.address[isa::BUFFER_WEIGHTS] + place_t(run) * c.regs.row_stride;
    beats:
        for (ap_uint<17> beat = 0; beat < c.regs.beats; beat += STEP) {
#pragma HLS pipeline
            for (int g = 0; g < STEP && beat + g < c.regs.beats; g += P::BEATS) {
                typename P::bits_t bits = 0;
                for (int b = 0; b < P::BEATS; b++)
                    bits.range((b + 1) * BEAT_BITS - 1, b * BEAT_BITS) =
                        weight_beat(WEIGHTS, first + beat + g + b);
                for (int v = 0; v < P::VECTORS; v++, number++)
                    buffer[isa::load_w::half(c.word)][number] =
                        unpack<stored_bits(WEIGHT_BITS), ROWS, weight_t>(bits, v);
            }
        }
    }
}

void load_w(CommandStream &commands, TokenStream &tokens, DoneStream &grants, WEIGHT_PARAMETERS,
            const beat_t *parameters, Column buffer[2][W_WORDS], param_t vectors[PARAM_WORDS][ROWS])
{
commands:
    for (Command c = commands.read(); c.opcode != isa::END; c = commands.read()) {
        begin(c, tokens, grants);
        if (c.opcode == isa::LOAD_W)
            load_weights(c, WEIGHTS, buffer);
        if (c.opcode == isa::LOAD_P)
            load<PARAM_BITS, ROWS, param_t>(c, parameters, c.address[isa::BUFFER_PARAMETERS],
                                            [&](place_t number, const Parameters &vector) {
                                                for (int j = 0; j < ROWS; j++)
                                                    vectors[c.regs.p_base + number][j] = vector.lane[j];
                                            });
        finish(c, tokens);
    }
    tokens.write(Token{TOKEN_END, 0});
}

void store(CommandStream &commands, TokenStream &tokens, DoneStream &grants, beat_t *maps,
           hls::stream<ReadRequest> &reads, hls::stream<Word> &words)
{
    constexpr int BITS = stored_bits(ACT_BITS);
    typedef Packing<BITS, COLS> P;
commands:
    for (Command c = commands.read(); c.opcode != isa::END; c = commands.read()) {
        begin(c, tokens, grants);
        place_t word = word_at(c.regs.out_page, c.regs.out_base);
    runs:
        for (ap_uint<16> run = 0; c.opcode == isa::STORE && run < c.regs.rows; run++) {
            const place_t first = c.address[isa::BUFFER_OUTPUT] + place_t(run) * c.regs.row_stride;
        beats:
            for (ap_uint<17> beat = 0; beat + P::BEATS <= c.regs.beats; beat += P::BEATS) {
                P::bits_t bits = 0;
                for (int v = 0; v < P::VECTORS; v++, word++)
                    reads.write(read_at(word));
                for (int v = 0; v < P::VECTORS; v++) {
                    const Word lanes = words.read();
                    for (int i = 0; i < COLS; i++) {
                        const int low = (v * COLS + i) * BITS;
                        bits.range(low + BITS - 1, low) = lanes.lane[i];
                    }
                }
                for (int b = 0; b < P::BEATS; b++)
                    maps[first + beat + b] = bits.range((b + 1) * BEAT_BITS - 1, b * BEAT_BITS);
            }
        }
        finish(c, tokens);
    }
    ReadRequest end = {};
    end.is_end = true;
    reads.write(end);
    tokens.write(Token{TOKEN_END, 0});
}
