/* A diamond whose long branch holds back three words; the short branch must hold the two that come
 * before the third. Run as the Makefile of a project does: through cosim.awk. */
#include <cstdio>
#include <exception>

#include "hls_stream.h"

static void split(hls::stream<int> &in, hls::stream<int> &left, hls::stream<int> &right)
{
    for (int i = 0; i < 8; i++) {
        const int word = in.read();
        left.write(word);
        right.write(word);
    }
}

static void delay(hls::stream<int> &in, hls::stream<int> &out)
{
    int kept[3];
    for (int i = 0; i < 11; i++) {
        if (i >= 3) out.write(kept[i % 3]);
        if (i < 8) kept[i % 3] = in.read();
    }
}

static void join(hls::stream<int> &left, hls::stream<int> &right, hls::stream<int> &out)
{
    for (int i = 0; i < 8; i++) out.write(10 * left.read() + right.read());
}

void top(hls::stream<int> &in, hls::stream<int> &out)
{
#pragma HLS dataflow
    hls::stream<int> left("left");
#pragma HLS stream variable = left depth = 1
    hls::stream<int> right("right");
#pragma HLS stream variable = right depth = SHORT_BRANCH
    hls::stream<int> late("late");
#pragma HLS stream variable = late depth = 1 type = fifo
    split(in, left, right);
    // The order of the calls does not matter.
    join(late, right, out);
    delay(left, late);
}

static bool run()
{
    hls::stream<int> in("in"), out("out");
    bool ok = true;
    for (int i = 0; i < 8; i++) in.write(i);
    top(in, out);
    for (int i = 0; i < 8; i++) ok = ok && out.read() == 11 * i;
    return ok;
}

int main()
{
    try {
        return run() ? 0 : 2;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
