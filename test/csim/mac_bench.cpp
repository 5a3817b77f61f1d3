/* Throughput of the inner loop of an int8 kernel in ap_int against the same
 * loop in builtin integers; run.py --bench prints it. */
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ap_int.h"

constexpr std::size_t SIZE = 16384, ROUNDS = 2000;

template <class T, class Acc>
__attribute__((noinline)) static Acc dot(const T *a, const T *b)
{
    __asm__ volatile("" ::: "memory"); /* one call, one run of the loop */
    Acc acc = 0;
    for (std::size_t i = 0; i < SIZE; i++) acc += a[i] * b[i];
    return acc;
}

template <class T, class Acc>
static void bench(const char *name)
{
    std::vector<T> a(SIZE), b(SIZE);
    for (std::size_t i = 0; i < SIZE; i++) {
        a[i] = static_cast<T>(static_cast<std::int8_t>(i * 37));
        b[i] = static_cast<T>(static_cast<std::int8_t>(i * 91));
    }
    double best = 1e9;
    long long sum = 0;
    for (int attempt = 0; attempt < 5; attempt++) {
        const auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < ROUNDS; i++)
            sum += static_cast<long long>(dot<T, Acc>(a.data(), b.data()));
        const double s =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        best = s < best ? s : best;
    }
    std::printf("  %-28s %6.2f GMAC/s (checksum %lld)\n", name,
                1e-9 * static_cast<double>(SIZE * ROUNDS) / best, sum);
}

int main()
{
    bench<std::int8_t, std::int32_t>("int8_t, int32_t");
    bench<ap_int<8>, ap_int<32>>("ap_int<8>, ap_int<32>");
    bench<ap_int<8>, ap_int<20>>("ap_int<8>, ap_int<20>");
    bench<ap_int<5>, ap_int<32>>("ap_int<5>, ap_int<32>");
    bench<ap_int<8>, ap_int<96>>("ap_int<8>, ap_int<96>");
}
