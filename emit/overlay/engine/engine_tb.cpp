/* engine_csim PROGRAM.bin MAPS.bin WEIGHTS.bin PARAMETERS.bin OUTPUT.bin
 *
 * Runs a program's file on banks of external memory that are files, and writes what the bank of maps
 * holds in the end. */
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "engine_files.h"
#include "engine_program.h"

static void simulate(char **argv)
{
    using namespace engine_program;
    const std::vector<word_t> program = read_program(read_file(argv[1]), argv[1]);
    Beats banks[3];
    for (int i = 0; i < 3; i++)
        banks[i] = to_beats(read_file(argv[2 + i]));
    run_engine(program, banks);
    write_file(argv[5], to_bytes(banks[BANK_MAPS]));
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        std::fprintf(stderr, "usage: %s PROGRAM.bin MAPS.bin WEIGHTS.bin PARAMETERS.bin OUTPUT.bin\n",
                     argv[0]);
        return EXIT_FAILURE;
    }
    try {
        simulate(argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        std::fflush(nullptr);
        std::_Exit(EXIT_FAILURE);
    }
    return EXIT_SUCCESS;
}
