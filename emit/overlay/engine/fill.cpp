/* From the weight buffer to the memories of the array, FILL_WORDS columns a cycle. */
#include "engine.h"

void fill(CommandStream &commands, TokenStream &tokens, DoneStream &grants, const Column buffer[2][W_WORDS],
          Column pe[2][PE_WORDS][COLS])
{
commands:
    for (Command c = commands.read(); c.opcode != isa::END; c = commands.read()) {
        begin(c, tokens, grants);
    weights:
        for (ap_uint<16> a = 0; c.opcode == isa::FILL && a < c.regs.fill_count; a++) {
        columns:
            for (int i = 0; i < COLS; i++) {
#pragma HLS pipeline II = 1
#pragma HLS unroll factor = FILL_WORDS
                pe[isa::fill::half(c.word)][c.regs.w_base + a][i] =
                    buffer[isa::fill::source(c.word)][c.regs.wb_base + place_t(a) * COLS + i];
            }
        }
        finish(c, tokens);
    }
    tokens.write(Token{TOKEN_END, 0});
}
