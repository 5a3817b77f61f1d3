/* The engine as one kernel: processes that run until the program ends. The port of the program has one
 * process that reads, and one that writes the status. */
#include "engine.h"

static void report(hls::stream<ap_uint<32>> &fault, hls::stream<ap_uint<32>> &left, ap_uint<32> *status)
{
    const ap_uint<32> found = fault.read(), unbalanced = left.read();
    *status = found != 0 ? found : unbalanced;
}

void engine(const word_t *program, ap_uint<32> count, const beat_t *maps_in, beat_t *maps_out,
            WEIGHT_PARAMETERS, const beat_t *parameters, ap_uint<32> *status)
{
#pragma HLS interface m_axi port = program bundle = program offset = slave
#pragma HLS interface m_axi port = maps_in bundle = maps_in offset = slave max_read_burst_length = 64
#pragma HLS interface m_axi port = maps_out bundle = maps_out offset = slave max_write_burst_length = 64
#pragma HLS interface m_axi port = weights bundle = weights offset = slave max_read_burst_length = 64
#if WEIGHT_PORTS > 1
#pragma HLS interface m_axi port = weights_1 bundle = weights_1 offset = slave max_read_burst_length = 64
#endif
#if WEIGHT_PORTS > 2
#pragma HLS interface m_axi port = weights_2 bundle = weights_2 offset = slave max_read_burst_length = 64
#pragma HLS interface m_axi port = weights_3 bundle = weights_3 offset = slave max_read_burst_length = 64
#endif
#pragma HLS interface m_axi port = parameters bundle = parameters offset = slave max_read_burst_length = 64
#pragma HLS interface s_axilite port = count
#pragma HLS interface m_axi port = status bundle = program offset = slave
#pragma HLS interface s_axilite port = return
#pragma HLS dataflow

    /* Each has one process that writes and one that reads; semaphores keep them apart. */
    ENGINE_MEMORY(word_t, pu_program, [PU_WORDS]);
    ENGINE_MEMORY(Column, buffer, [2][W_WORDS]);
    ENGINE_MEMORY(Column, pe, [2][PE_WORDS][COLS]);
    ENGINE_MEMORY(param_t, vectors, [PARAM_WORDS][ROWS]);
#pragma HLS stream variable = pu_program type = unsync
#pragma HLS stream variable = buffer type = unsync
#pragma HLS stream variable = pe type = unsync
#pragma HLS stream variable = vectors type = unsync
#pragma HLS array_partition variable = buffer dim = 1 complete
#pragma HLS array_partition variable = buffer dim = 2 cyclic factor = FILL_WORDS
#pragma HLS array_partition variable = pe dim = 3 complete
#pragma HLS aggregate variable = pe compact = bit
#pragma HLS aggregate variable = buffer compact = bit
#pragma HLS array_partition variable = vectors dim = 2 complete
#pragma HLS bind_storage variable = buffer type = ram_s2p impl = uram
#pragma HLS bind_storage variable = pe type = ram_s2p impl = bram
#pragma HLS bind_storage variable = vectors type = ram_s2p impl = bram

    CommandStream commands[UNITS], to_array("to_array"), to_alu("to_alu"), to_operands("to_operands");
    TokenStream tokens[UNITS];
    DoneStream grants[UNITS], flushed[WRITERS], array_done("array_done"), alu_done("alu_done");
    hls::stream<ReadRequest> reads[READERS];
    hls::stream<Word> words[READERS];
    hls::stream<WriteRequest> writes[WRITERS];
    hls::stream<Tap> taps("taps");
    hls::stream<Vector> sums("sums"), second("second");
    hls::stream<ap_uint<32>> fault("fault"), left("left");
#pragma HLS stream variable = words depth = 16
#pragma HLS stream variable = taps depth = 16
#pragma HLS stream variable = sums depth = 4
#pragma HLS stream variable = second depth = 4

    PROCESS(fetch, program, count, commands, pu_program, fault);
    PROCESS(load_a, commands[UNIT_LOAD_A], tokens[UNIT_LOAD_A], grants[UNIT_LOAD_A], maps_in,
            writes[WRITE_LOAD], flushed[WRITE_LOAD]);
    PROCESS(load_w, commands[UNIT_LOAD_W], tokens[UNIT_LOAD_W], grants[UNIT_LOAD_W], WEIGHTS, parameters,
            buffer, vectors);
    PROCESS(fill, commands[UNIT_FILL], tokens[UNIT_FILL], grants[UNIT_FILL], buffer, pe);
    PROCESS(compute, commands[UNIT_COMPUTE], tokens[UNIT_COMPUTE], grants[UNIT_COMPUTE], to_array, to_alu,
            taps, reads[READ_TAPS], array_done, alu_done);
    PROCESS(array, to_array, taps, words[READ_TAPS], pe, sums, array_done);
    PROCESS(alu, to_alu, sums, pu_program, vectors, to_operands, second, writes[WRITE_RESULTS],
            flushed[WRITE_RESULTS], alu_done);
    PROCESS(operands, to_operands, reads[READ_OPERANDS], words[READ_OPERANDS], second);
    PROCESS(store, commands[UNIT_STORE], tokens[UNIT_STORE], grants[UNIT_STORE], maps_out, reads[READ_STORE],
            words[READ_STORE]);
    PROCESS(activations, reads, words, writes, flushed);
    PROCESS(semaphores, tokens, grants, left);
    PROCESS(report, fault, left, status);
    RUN_PROCESSES();
}
