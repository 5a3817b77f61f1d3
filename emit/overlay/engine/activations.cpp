/* The buffer of activations: pages of UltraRAM, each with a port to read and one to write, which the
 * requests of several units are led to. A program keeps two units from one port of a page; where it
 * does not, one of them waits. Maxima of windows take both ports of a page; the same word does not come
 * again for POOL_LATENCY requests. */
#include "engine.h"

/* Whether there is a request that can be answered. */
template <class Request, class Answer>
static bool take(hls::stream<Request> &from, hls::stream<Answer> &to, Request &request, bool &is_held)
{
#pragma HLS inline
    if (!is_held)
        is_held = from.read_nb(request);
    return is_held && (request.is_end || !to.full());
}

void activations(hls::stream<ReadRequest> reads[READERS], hls::stream<Word> words[READERS],
                 hls::stream<WriteRequest> writes[WRITERS], DoneStream flushed[WRITERS])
{
    ENGINE_MEMORY(Word, pages, [ACT_PAGES][PAGE_WORDS]);
#pragma HLS array_partition variable = pages dim = 1 complete
#pragma HLS aggregate variable = pages compact = bit
#pragma HLS bind_storage variable = pages type = ram_s2p impl = uram
#pragma HLS dependence variable = pages type = inter direction = RAW distance = POOL_LATENCY dependent = true

    ReadRequest read[READERS];
    WriteRequest write[WRITERS];
    bool is_read[READERS] = {}, is_written[WRITERS] = {};
    ap_uint<3> running = READERS + WRITERS;
#pragma HLS array_partition variable = read complete
#pragma HLS array_partition variable = write complete
#pragma HLS array_partition variable = is_read complete
#pragma HLS array_partition variable = is_written complete

requests:
    while (running > 0) {
#pragma HLS pipeline II = 1
        Word answer[READERS];
        bool can_read[READERS], can_write[WRITERS], is_answered[READERS] = {};
        for (int r = 0; r < READERS; r++) {
#pragma HLS unroll
            can_read[r] = take(reads[r], words[r], read[r], is_read[r]);
        }
        for (int w = 0; w < WRITERS; w++) {
#pragma HLS unroll
            can_write[w] = take(writes[w], flushed[w], write[w], is_written[w]);
        }

    ports:
        for (int p = 0; p < ACT_PAGES; p++) {
#pragma HLS unroll
            int reader = READERS, writer = WRITERS;
            for (int r = READERS - 1; r >= 0; r--)
                if (can_read[r] && !read[r].is_end && read[r].page == p)
                    reader = r;
            for (int w = WRITERS - 1; w >= 0; w--)
                if (can_write[w] && !write[w].is_end && !write[w].is_flush && write[w].page == p)
                    writer = w;
            if (reader < READERS) {
                answer[reader] = pages[p][read[reader].word];
                is_answered[reader] = true;
            }
            if (writer < WRITERS) {
                for (int i = 0; i < COLS; i++)
                    if (write[writer].enable[i] &&
                        (!write[writer].is_greater ||
                         write[writer].data.lane[i] > pages[p][write[writer].word].lane[i]))
                        pages[p][write[writer].word].lane[i] = write[writer].data.lane[i];
                is_written[writer] = false;
            }
        }

        for (int r = 0; r < READERS; r++) {
#pragma HLS unroll
            if (is_answered[r])
                words[r].write(answer[r]);
            if (can_read[r] && read[r].is_end)
                running--;
            if (can_read[r] && (is_answered[r] || read[r].is_end))
                is_read[r] = false;
        }
        for (int w = 0; w < WRITERS; w++) {
#pragma HLS unroll
            if (!can_write[w] || !is_written[w])
                continue;
            if (write[w].is_flush)
                flushed[w].write(true);
            if (write[w].is_end)
                running--;
            if (write[w].is_flush || write[w].is_end)
                is_written[w] = false;
        }
        WAIT_FOR_OTHERS();
    }
}
