// CUDA C on a CPU: the words that kernels use, and `run`, which stands for a launch.
//
// One thread after the other, the last one first: nobody may rely on an order. Where a kernel meets at __syncthreads, the threads of
// a block are threads of the system, and shared memory is what they have in common.

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

struct Place { unsigned x, y, z; };
static thread_local Place threadIdx, blockIdx;
static Place blockDim, gridDim;
static pthread_barrier_t meeting;

#define __global__
#define __device__
#define __shared__ static
#define __syncthreads() pthread_barrier_wait(&meeting)

// --- what a kernel's parameters are: "f4 i4 *f4 *const f4" ---

template <class T> struct Kind;
template <> struct Kind<float> { static constexpr const char* name = "f4 "; };
template <> struct Kind<double> { static constexpr const char* name = "f8 "; };
template <> struct Kind<int> { static constexpr const char* name = "i4 "; };
template <> struct Kind<long long> { static constexpr const char* name = "i8 "; };
template <> struct Kind<bool> { static constexpr const char* name = "b1 "; };
template <> struct Kind<unsigned char> { static constexpr const char* name = "u1 "; };
template <> struct Kind<unsigned int> { static constexpr const char* name = "u4 "; };

template <class T> struct Parameter { static void name(char* out) { strcat(out, Kind<T>::name); } };
template <class T> struct Parameter<T*> { static void name(char* out) { strcat(strcat(out, "*"), Kind<T>::name); } };
template <class T> struct Parameter<const T*> { static void name(char* out) { strcat(strcat(out, "*const-"), Kind<T>::name); } };

template <class... T> const char* parameters(void (*)(T...)) {
    static char text[1024];
    text[0] = 0;
    (Parameter<T>::name(text), ...);
    return text;
}

// --- the launch: arguments by address, as the driver takes them ---

template <int... N> struct Places {};
template <int N, int... Rest> struct Counted : Counted<N - 1, N - 1, Rest...> {};
template <int... N> struct Counted<0, N...> { using Is = Places<N...>; };

template <class... T, int... N> void call(void (*kernel)(T...), void** arguments, Places<N...>) {
    kernel(*(T*)arguments[N]...);
}

struct Task { void (*body)(void*); void* with; unsigned thread; };

static void* every_block(void* task) {
    Task* mine = (Task*)task;
    threadIdx = {mine->thread, 0, 0};
    for (unsigned block = gridDim.x; block-- > 0;) {
        blockIdx = {block, 0, 0};
        mine->body(mine->with);
        __syncthreads();  // the next block has the same shared memory
    }
    return nullptr;
}

static int run_blocks(unsigned blocks, unsigned threads, bool meets, void (*body)(void*), void* with) {
    gridDim = {blocks, 1, 1};
    blockDim = {threads, 1, 1};
    if (!meets) {
        for (unsigned block = blocks; block-- > 0;) {
            for (unsigned thread = threads; thread-- > 0;) {
                blockIdx = {block, 0, 0};
                threadIdx = {thread, 0, 0};
                body(with);
            }
        }
        return 0;
    }
    pthread_t started[1024];
    Task tasks[1024];
    pthread_barrier_init(&meeting, nullptr, threads);
    for (unsigned thread = 0; thread < threads; thread++) {
        tasks[thread] = {body, with, thread};
        if (pthread_create(&started[thread], nullptr, every_block, &tasks[thread])) return 1;
    }
    for (unsigned thread = 0; thread < threads; thread++) pthread_join(started[thread], nullptr);
    pthread_barrier_destroy(&meeting);
    return 0;
}

template <class... T> int run(void (*kernel)(T...), unsigned blocks, unsigned threads, bool meets, void** arguments) {
    struct Launch { void (*kernel)(T...); void** arguments; } launch = {kernel, arguments};
    auto body = [](void* with) {
        Launch* it = (Launch*)with;
        call(it->kernel, it->arguments, typename Counted<sizeof...(T)>::Is());
    };
    return run_blocks(blocks, threads, meets, body, &launch);
}

#define KERNEL(name) \
    extern "C" const char* name##_parameters() { return parameters(name); } \
    extern "C" int name##_run(unsigned blocks, unsigned threads, int meets, void** arguments) { \
        return run(name, blocks, threads, meets, arguments); \
    }
