/* The processing unit: a program for every vector of sums, and for every element of a pool's window.
 * The second operand comes ahead, one vector for each result. */
#include "engine.h"

struct Place {
    ap_uint<16> m, y, x;
};

/* value / 2^shift, rounded. */
static acc_t shift_right(acc_t value, ap_uint<6> shift, ap_uint<2> rounding)
{
#pragma HLS inline
    const acc_t floor = value >> int(shift);
    if (shift == 0 || rounding == isa::ROUND_FLOOR)
        return floor;
    const acc_t low = value >> int(shift - 1);
    const bool is_half = low[0];
    const bool has_rest = acc_t(low << int(shift - 1)) != value;
    const bool is_up = is_half && (has_rest || rounding == isa::ROUND_HALF_UP || floor[0]);
    return floor + is_up;
}

static Vector arithmetic(isa::Opcode opcode, word_t word, const Vector &a, const Vector &b)
{
#pragma HLS inline
    Vector r;
lanes:
    for (int j = 0; j < ROWS; j++) {
#pragma HLS unroll
        const acc_t x = a.lane[j], y = b.lane[j];
        switch (opcode) {
        case isa::PU_ADD:
        case isa::PU_ADDI:
            r.lane[j] = x + y;
            break;
        case isa::PU_SUB:
        case isa::PU_SUBI:
            r.lane[j] = x - y;
            break;
        case isa::PU_MUL:
        case isa::PU_MULI:
            r.lane[j] = x * y;
            break;
        case isa::PU_MAX:
        case isa::PU_MAXI:
            r.lane[j] = x > y ? x : y;
            break;
        case isa::PU_MIN:
        case isa::PU_MINI:
            r.lane[j] = x < y ? x : y;
            break;
        case isa::PU_RSHIFT:
            r.lane[j] = shift_right(x, ap_uint<6>(y), isa::ROUND_FLOOR);
            break;
        default:
            r.lane[j] = shift_right(x, isa::pu_rshifti::shift(word), isa::pu_rshifti::rounding(word));
        }
    }
    return r;
}

static Vector all_lanes(acc_t value)
{
#pragma HLS inline
    Vector r;
    for (int j = 0; j < ROWS; j++)
        r.lane[j] = value;
    return r;
}

static Vector from_parameters(const param_t parameters[ROWS])
{
#pragma HLS inline
    Vector r;
    for (int j = 0; j < ROWS; j++)
        r.lane[j] = parameters[j];
    return r;
}

/* An entry of a table of 2^log2_bits bits each, which every lane has in its own parameters. */
static Vector look_up(const Command &c, const Place &at, word_t word, const Vector &entries,
                      const param_t vectors[PARAM_WORDS][ROWS])
{
#pragma HLS inline
    const int log2_bits = int(isa::pu_lookup::log2_bits(word) % 6);
    const ap_uint<33> mask = (ap_uint<33>(1) << (1 << log2_bits)) - 1;
    const place_t first = c.regs.p_base + isa::pu_lookup::address(word) + at.m;
    Vector r;
lanes:
    for (int j = 0; j < ROWS; j++) {
#pragma HLS unroll
        const acc_t entry = entries.lane[j] > 0 ? entries.lane[j] : acc_t(0);
        const place_t vector = first + place_t(entry >> (5 - log2_bits)) * c.regs.p_stride;
        const ap_uint<5> bit = entry << log2_bits;
        const ap_uint<PARAM_BITS> bits = vectors[vector % PARAM_WORDS][j];
        r.lane[j] = (bits >> int(bit)) & mask;
    }
    return r;
}

/* How many of 2^planes - 1 thresholds, which do not fall, are not above the lane's number: a search by
 * halves, that reads one in each step. */
static Vector count_thresholds(const Command &c, const Place &at, word_t word, const Vector &values,
                               const param_t vectors[PARAM_WORDS][ROWS])
{
#pragma HLS inline
    const int planes = int(isa::pu_threshold::planes(word));
    const place_t first = c.regs.p_base + isa::pu_threshold::address(word) + at.m;
    Vector r;
lanes:
    for (int j = 0; j < ROWS; j++) {
#pragma HLS unroll
        int count = 0;
        for (int step = MOST_PLANES - 1; step >= 0; step--) {
            const int next = count + (1 << step);
            const place_t vector = first + place_t(next - 1) * c.regs.p_stride;
            if (step < planes && values.lane[j] >= vectors[vector % PARAM_WORDS][j])
                count = next;
        }
        r.lane[j] = count;
    }
    return r;
}

static Vector greater(const Vector &a, const Vector &b)
{
#pragma HLS inline
    Vector r;
    for (int j = 0; j < ROWS; j++)
        r.lane[j] = a.lane[j] > b.lane[j] ? a.lane[j] : b.lane[j];
    return r;
}

/* The register of a field. */
static int reg(int field)
{
#pragma HLS inline
    return field % PU_REGS;
}

/* Whether the second source is a register. */
static bool has_two_registers(isa::Opcode opcode)
{
#pragma HLS inline
    return opcode == isa::PU_ADD || opcode == isa::PU_SUB || opcode == isa::PU_MUL || opcode == isa::PU_MAX ||
           opcode == isa::PU_MIN || opcode == isa::PU_RSHIFT;
}

static act_t saturate(acc_t value)
{
#pragma HLS inline
    const acc_t most = (acc_t(1) << (ACT_BITS - (ACT_IS_UNSIGNED ? 0 : 1))) - 1;
    const acc_t least = ACT_IS_UNSIGNED ? acc_t(0) : acc_t(-most - 1);
    return act_t(value < least ? least : value > most ? most : value);
}

/* Lanes m * ROWS and on of the pixel, which are words or a part of one. */
static void store_pixel(const Command &c, const Place &at, const Vector &vector, bool is_greater,
                        hls::stream<WriteRequest> &writes)
{
    const place_t first = place_t(at.m) * ROWS;
    const place_t pixel = word_at(c.regs.out_page, c.regs.out_base) + place_t(at.y) * c.regs.out_row +
                          place_t(at.x) * c.regs.out_pixel + first / COLS;
words:
    for (int n = 0; n < VECTOR_WORDS; n++) {
#pragma HLS pipeline II = 1
        const ReadRequest to = read_at(pixel + n);
        const int lane = int(first % COLS);
        WriteRequest request = {};
        request.page = to.page;
        request.word = to.word;
        request.is_greater = is_greater;
        for (int i = 0; i < VECTOR_LANES; i++) {
#pragma HLS unroll
            request.enable[lane + i] = 1;
            const bool counts =
                c.regs.out_lanes == 0 || first + n * VECTOR_LANES + i < place_t(c.regs.out_lanes);
            request.data.lane[lane + i] =
                counts ? saturate(vector.lane[n * VECTOR_LANES + i]) : act_t(0);
        }
        writes.write(request);
    }
}

/* Of one axis, the windows of a pool that the next result is in, counted without a division; `from` and
 * `next` are where window `first` and window `end` begin behind the padding. */
struct Windows {
    ap_uint<16> first, end, kernel, stride, pad, count;
    place_t at, from, next;

    void begin(ap_uint<16> window_kernel, ap_uint<16> window_stride, ap_uint<16> padding, ap_uint<16> windows)
    {
        kernel = window_kernel;
        stride = window_stride;
        pad = padding;
        count = windows;
        rewind();
    }

    void rewind()
    {
        first = 0;
        end = 1;
        at = pad;
        from = 0;
        next = stride;
    padding:
        while (next <= at && end < count) {
            end++;
            next += stride;
        }
    }

    /* To the next result: one window at most begins with it, and one is over. */
    void advance()
    {
        at++;
        if (at >= from + kernel) {
            first++;
            from += stride;
        }
        if (next <= at && end < count) {
            end++;
            next += stride;
        }
    }

    /* Whether the result is the first one of the window that begins there. */
    bool begins(place_t place) const { return at == (place < pad ? place_t(pad) : place); }
};

/* A result, or its share in the maxima of the windows that it is in. The first of a window is written
 * as it is. */
static void store_vector(const Command &c, const Place &at, const Vector &vector, const Windows &rows,
                         const Windows &columns, hls::stream<WriteRequest> &writes)
{
    if (c.regs.pool_k_h == 0) {
        store_pixel(c, at, vector, false, writes);
        return;
    }
    ap_uint<16> stored = 0;
    place_t row = rows.from;
rows:
    for (ap_uint<16> y = rows.first; y < rows.end; y++, row += rows.stride) {
        place_t column = columns.from;
    columns:
        for (ap_uint<16> x = columns.first; x < columns.end; x++, column += columns.stride) {
            const bool is_first = rows.begins(row) && columns.begins(column);
            store_pixel(c, Place{at.m, y, x}, vector, !is_first, writes);
            stored += VECTOR_WORDS;
        }
    }
    const WriteRequest nothing = {};
pauses:
    for (; stored < POOL_LATENCY; stored++)
        writes.write(nothing);
}

/* Instructions first to first + length - 1. */
static void execute(const Command &c, const Place &at, ap_uint<16> first, ap_uint<16> length,
                    Vector regs[PU_REGS], const Vector &sums, const Vector &operand,
                    const word_t pu_program[PU_WORDS], const param_t vectors[PARAM_WORDS][ROWS],
                    const Windows &rows, const Windows &columns, hls::stream<WriteRequest> &writes)
{
instructions:
    for (ap_uint<16> i = 0; i < length; i++) {
#pragma HLS pipeline II = 1
#pragma HLS unroll factor = PU_STAGES
        const word_t word = pu_program[(first + i) % PU_WORDS];
        const isa::Opcode opcode = isa::opcode(word);
        if (opcode == isa::PU_STORE) {
            store_vector(c, at, regs[reg(int(isa::pu_store::src0(word)))], rows, columns, writes);
        } else if (PU_KIND == 1 && opcode == isa::PU_MVHI) {
            regs[reg(int(isa::pu_mvhi::dest(word)))] = all_lanes(acc_t(isa::pu_mvhi::immediate(word)) << 13);
        } else if (PU_KIND == 1 && opcode == isa::PU_LOOKUP) {
            regs[reg(int(isa::pu_lookup::dest(word)))] =
                look_up(c, at, word, regs[reg(int(isa::pu_lookup::src0(word)))], vectors);
        } else if (opcode == isa::PU_THRESHOLD) {
            regs[reg(int(isa::pu_threshold::dest(word)))] =
                count_thresholds(c, at, word, regs[reg(int(isa::pu_threshold::src0(word)))], vectors);
        } else if (opcode == isa::PU_LOAD) {
            const int source = int(isa::pu_load::source(word));
            const place_t parameter = c.regs.p_base + isa::pu_load::address(word) + at.m;
            regs[reg(int(isa::pu_load::dest(word)))] = source == isa::SOURCE_OPERAND ? operand
                                             : source == isa::SOURCE_PARAMETER
                                                 ? from_parameters(vectors[parameter % PARAM_WORDS])
                                                 : sums;
        } else if (PU_KIND != 1) {
            if (opcode == isa::PU_MAX)
                regs[reg(int(isa::pu_max::dest(word)))] = greater(regs[reg(int(isa::pu_max::src0(word)))],
                                                                  regs[reg(int(isa::pu_max::src1(word)))]);
        } else {
            const Vector &a = regs[reg(int(isa::pu_add::src0(word)))];
            const Vector b = has_two_registers(opcode) ? regs[reg(int(isa::pu_add::src1(word)))]
                                                       : all_lanes(isa::pu_addi::immediate(word));
            regs[reg(int(isa::pu_add::dest(word)))] = arithmetic(opcode, word, a, b);
        }
    }
}

static bool loads_operand(const word_t pu_program[PU_WORDS], ap_uint<16> first, ap_uint<16> length)
{
    bool found = false;
instructions:
    for (ap_uint<16> i = 0; i < length; i++) {
#pragma HLS pipeline II = 1
        const word_t word = pu_program[(first + i) % PU_WORDS];
        found |= isa::opcode(word) == isa::PU_LOAD && isa::pu_load::source(word) == isa::SOURCE_OPERAND;
    }
    return found;
}

static void run(const Command &c, hls::stream<Vector> &sums, const word_t pu_program[PU_WORDS],
                const param_t vectors[PARAM_WORDS][ROWS], CommandStream &to_operands,
                hls::stream<Vector> &operands, hls::stream<WriteRequest> &writes)
{
    const bool is_pool = c.regs.mode == isa::MODE_POOL;
    const ap_uint<16> taps = is_pool ? c.regs.pu_tap_length : ap_uint<16>(0);
    const place_t window = is_pool ? place_t(place_t(c.regs.k_h) * c.regs.k_w) : place_t(1);
    const bool has_operand = loads_operand(pu_program, c.regs.pu_out, c.regs.pu_out_length) ||
                             loads_operand(pu_program, c.regs.pu_tap, taps);
    if (has_operand)
        to_operands.write(c);

    Place at;
    Windows rows, columns;
    rows.begin(c.regs.pool_k_h, c.regs.pool_stride_y, c.regs.pool_pad_t, c.regs.pool_h);
    columns.begin(c.regs.pool_k_w, c.regs.pool_stride_x, c.regs.pool_pad_l, c.regs.pool_w);
blocks:
    for (at.m = 0; at.m < c.regs.out_cblk; at.m++, rows.rewind())
    rows:
        for (at.y = 0; at.y < c.regs.out_h; at.y++, rows.advance(), columns.rewind())
        columns:
            for (at.x = 0; at.x < c.regs.out_w; at.x++, columns.advance()) {
                Vector regs[PU_REGS] = {};
#pragma HLS array_partition variable = regs complete
                Vector lanes = {}, operand = {};
                if (is_pool)
                    regs[0] = all_lanes(c.regs.pad_value);
                if (has_operand)
                    operand = operands.read();
            window:
                for (place_t t = 0; t < window; t++) {
                    lanes = sums.read();
                    execute(c, at, c.regs.pu_tap, taps, regs, lanes, operand, pu_program, vectors,
                            rows, columns, writes);
                }
                execute(c, at, c.regs.pu_out, c.regs.pu_out_length, regs, lanes, operand, pu_program, vectors,
                        rows, columns, writes);
            }
}

void alu(CommandStream &commands, hls::stream<Vector> &sums, const word_t pu_program[PU_WORDS],
         const param_t vectors[PARAM_WORDS][ROWS], CommandStream &to_operands, hls::stream<Vector> &operands,
         hls::stream<WriteRequest> &writes, DoneStream &flushed, DoneStream &done)
{
    WriteRequest request = {};
    Command c;
commands:
    for (c = commands.read(); c.opcode != isa::END; c = commands.read()) {
        run(c, sums, pu_program, vectors, to_operands, operands, writes);
        request.is_flush = true;
        writes.write(request);
        flushed.read();
        done.write(true);
    }
    request.is_flush = false;
    request.is_end = true;
    writes.write(request);
    to_operands.write(c);
}

void operands(CommandStream &commands, hls::stream<ReadRequest> &reads, hls::stream<Word> &words,
              hls::stream<Vector> &vectors)
{
commands:
    for (Command c = commands.read(); c.opcode != isa::END; c = commands.read()) {
        const place_t base = word_at(c.regs.act2_page, c.regs.act2_base);
    blocks:
        for (ap_uint<16> m = 0; m < c.regs.out_cblk; m++)
        rows:
            for (ap_uint<16> y = 0; y < c.regs.out_h; y++)
            columns:
                for (ap_uint<16> x = 0; x < c.regs.out_w; x++) {
                    const place_t first = place_t(m) * ROWS;
                    const place_t pixel =
                        base + place_t(y) * c.regs.act2_row + place_t(x) * c.regs.act2_pixel + first / COLS;
                    Vector vector;
                requests:
                    for (int n = 0; n < VECTOR_WORDS; n++)
                        reads.write(read_at(pixel + n));
                answers:
                    for (int n = 0; n < VECTOR_WORDS; n++) {
                        const Word word = words.read();
                        for (int i = 0; i < VECTOR_LANES; i++)
                            vector.lane[n * VECTOR_LANES + i] = word.lane[(int(first % COLS) + i) % COLS];
                    }
                    vectors.write(vector);
                }
    }
    ReadRequest end = {};
    end.is_end = true;
    reads.write(end);
}
