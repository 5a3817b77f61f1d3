/* ming_npy.h on the command line, for run.py to compare with numpy.
 *   read FILE...              a line per file: dtype and shape, or the error
 *   copy IN OUT               read and write
 *   cast IN OUT DTYPE         element by element, through the accessors
 *   quantize IN OUT MODE SCALE ZERO LO HI
 *                             to i8; in float if IN is f4, else in double */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ming_npy.h"

static void read_all(int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        try {
            const ming::Array a = ming::npy_read(paths[i]);
            std::printf("ok %s", a.dtype().c_str());
            for (const std::size_t d : a.shape) std::printf(" %zu", d);
            std::printf("\n");
        } catch (const std::runtime_error &e) {
            std::printf("error %s\n", e.what());
        }
    }
}

static ming::Array cast(const ming::Array &a, const char *dtype)
{
    ming::Array r(dtype, a.shape);
    for (std::size_t i = 0; i < a.size(); i++) {
        if (a.is_float())
            r.set_double(i, a.at_double(i));
        else if (a.kind == 'i')
            r.set_int(i, a.at_int(i));
        else
            r.set_uint(i, a.at_uint(i));
    }
    return r;
}

static ming::Array quantize(const ming::Array &a, char **args)
{
    const ming::Rounding mode = static_cast<ming::Rounding>(std::atoi(args[0]));
    const double scale = std::strtod(args[1], nullptr), zero = std::strtod(args[2], nullptr);
    const long long lo = std::atoll(args[3]), hi = std::atoll(args[4]);
    ming::Array r("i8", a.shape);
    for (std::size_t i = 0; i < a.size(); i++) {
        const double x = a.at_double(i);
        r.set_int(i, a.item == 4 ? ming::quantize(static_cast<float>(x), static_cast<float>(scale),
                                                  static_cast<float>(zero), lo, hi, mode)
                                 : ming::quantize(x, scale, zero, lo, hi, mode));
    }
    return r;
}

static int run(int argc, char **argv)
{
    if (argc >= 2 && std::strcmp(argv[1], "read") == 0)
        read_all(argc - 2, argv + 2);
    else if (argc == 4 && std::strcmp(argv[1], "copy") == 0)
        ming::npy_write(argv[3], ming::npy_read(argv[2]));
    else if (argc == 5 && std::strcmp(argv[1], "cast") == 0)
        ming::npy_write(argv[3], cast(ming::npy_read(argv[2]), argv[4]));
    else if (argc == 9 && std::strcmp(argv[1], "quantize") == 0)
        ming::npy_write(argv[3], quantize(ming::npy_read(argv[2]), argv + 4));
    else
        return 2;
    return 0;
}

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::runtime_error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
