/* Sixteen counters that any unit waits for and signals. A unit sends nothing while it waits. */
#include "engine.h"

void semaphores(TokenStream from[UNITS], DoneStream grants[UNITS], hls::stream<ap_uint<32>> &left)
{
    ap_uint<16> counts[SEMAPHORES] = {};
    ap_uint<4> awaited[UNITS] = {};
    bool waits[UNITS] = {};
    ap_uint<3> running = UNITS;
#pragma HLS array_partition variable = counts complete
#pragma HLS array_partition variable = awaited complete
#pragma HLS array_partition variable = waits complete

tokens:
    while (running > 0) {
#pragma HLS pipeline II = 1
        for (int u = 0; u < UNITS; u++) {
#pragma HLS unroll
            Token token;
            if (!waits[u] && from[u].read_nb(token)) {
                if (token.kind == TOKEN_SIGNAL)
                    counts[token.semaphore]++;
                else if (token.kind == TOKEN_END)
                    running--;
                waits[u] = token.kind == TOKEN_WAIT;
                awaited[u] = token.semaphore;
            }
            if (waits[u] && counts[awaited[u]] > 0) {
                counts[awaited[u]]--;
                waits[u] = false;
                grants[u].write(true);
            }
        }
        WAIT_FOR_OTHERS();
    }

    ap_uint<32> fault = 0;
balance:
    for (int s = 0; s < SEMAPHORES; s++)
        if (counts[s] > 0)
            fault = fault_at(FAULT_SEMAPHORE, ap_uint<28>(s));
    left.write(fault);
}
