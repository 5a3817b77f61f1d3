/* Walks over the windows of a run: asks for the words of each tap that lies on the map, and tells the
 * array which ones those are. */
#include "engine.h"

/* Words of a tap, the first of them, and the place of their weights. */
struct Walk {
    ap_uint<16> words;
    place_t first;
    place_t weights;
};

static Walk walk_at(const Command &c, ap_uint<16> m, place_t tap, place_t taps)
{
#pragma HLS inline
    const place_t lane = place_t(m) * ROWS;
    switch (int(c.regs.mode)) {
    case isa::MODE_DENSE:
        return Walk{c.regs.in_cblk, 0, (place_t(m) * taps + tap) * c.regs.in_cblk};
    case isa::MODE_DEPTHWISE:
        return Walk{1, lane / COLS, place_t(m) * taps + tap};
    default:
        return Walk{VECTOR_WORDS, lane / COLS, 0};
    }
}

static void window(const Command &c, ap_uint<16> m, ap_uint<16> y, ap_uint<16> x, hls::stream<Tap> &taps,
                   hls::stream<ReadRequest> &reads)
{
    const bool has_window = c.regs.mode != isa::MODE_ELTWISE;
    const ap_uint<16> k_h = has_window ? c.regs.k_h : ap_uint<16>(1);
    const ap_uint<16> k_w = has_window ? c.regs.k_w : ap_uint<16>(1);
    const place_t base = word_at(c.regs.act_page, c.regs.act_base);
rows:
    for (ap_uint<16> ky = 0; ky < k_h; ky++) {
    columns:
        for (ap_uint<16> kx = 0; kx < k_w; kx++) {
            const ap_int<40> row = y * c.regs.stride_y + ky * c.regs.dil_y - c.regs.pad_t;
            const ap_int<40> column = x * c.regs.stride_x + kx * c.regs.dil_x - c.regs.pad_l;
            const bool is_inside = row >= 0 && column >= 0 && row < c.regs.in_h && column < c.regs.in_w;
            const Walk walk = walk_at(c, m, place_t(ky) * k_w + kx, place_t(k_h) * k_w);
            const place_t pixel =
                base + place_t(row) * c.regs.act_row + place_t(column) * c.regs.act_pixel + walk.first;
        words:
            for (ap_uint<16> n = 0; n < walk.words; n++) {
#pragma HLS pipeline II = 1
                taps.write(Tap{is_inside, ap_uint<16>(walk.weights + n)});
                if (is_inside)
                    reads.write(read_at(pixel + n));
            }
        }
    }
}

static void run(const Command &c, hls::stream<Tap> &taps, hls::stream<ReadRequest> &reads)
{
blocks:
    for (ap_uint<16> m = 0; m < c.regs.out_cblk; m++)
    rows:
        for (ap_uint<16> y = 0; y < c.regs.out_h; y++)
        columns:
            for (ap_uint<16> x = 0; x < c.regs.out_w; x++)
                window(c, m, y, x, taps, reads);
}

void compute(CommandStream &commands, TokenStream &tokens, DoneStream &grants, CommandStream &to_array,
             CommandStream &to_alu, hls::stream<Tap> &taps, hls::stream<ReadRequest> &reads,
             DoneStream &array_done, DoneStream &alu_done)
{
    Command c;
commands:
    for (c = commands.read(); c.opcode != isa::END; c = commands.read()) {
        begin(c, tokens, grants);
        if (c.opcode == isa::RUN) {
            to_array.write(c);
            if (c.regs.c_last)
                to_alu.write(c);
            run(c, taps, reads);
            array_done.read();
            if (c.regs.c_last)
                alu_done.read(); /* the next run may read what this one wrote */
        }
        finish(c, tokens);
    }
    to_array.write(c);
    to_alu.write(c);
    ReadRequest end = {};
    end.is_end = true;
    reads.write(end);
    tokens.write(Token{TOKEN_END, 0});
}
