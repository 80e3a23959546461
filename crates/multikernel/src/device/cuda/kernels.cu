// Kernels between points, for float and for double. Sums are in double and in a fixed order: no atomic adds, so the
// same bits each time. Compiled to kernels.ptx by scripts/ptx.

#define SIDE 64     // rows and columns of a tile
#define EACH 4      // rows and columns of a tile per thread
#define THREADS 16  // threads per side of a block
#define DEPTH 16    // columns of points held at a time

enum { SQUARED, L1, INNER, COSINE, SHIFTED };
enum { DECAY, POWER, RATIONAL, TANH, ONE_LESS };

__device__ __forceinline__ float power_of_e(float x) { return expf(x); }
__device__ __forceinline__ double power_of_e(double x) { return exp(x); }
__device__ __forceinline__ float log_of_more(float x) { return log1pf(x); }
__device__ __forceinline__ double log_of_more(double x) { return log1p(x); }
__device__ __forceinline__ float size_of(float x) { return fabsf(x); }
__device__ __forceinline__ double size_of(double x) { return fabs(x); }

// All but the decay, which most kernels are: a call keeps the code small.
template <typename T>
__device__ __noinline__ T other_value(int code, T a, T b, T q) {
    if (code == POWER) {
        T square = a + q, result = 1;
        for (int left = (int)b; left > 0; left >>= 1) {
            if (left & 1) result *= square;
            square *= square;
        }
        return result;
    }
    if (code == RATIONAL) return power_of_e(-b * log_of_more(a * q));
    if (code == TANH) return (T)tanh((double)(a * q));
    return 1 - q;
}

template <typename T>
__device__ __forceinline__ T value_of(int code, T a, T b, T q) {
    return code == DECAY ? power_of_e(-a * q) : other_value(code, a, b, q);
}

// The quantity between 4 x 4 pairs of points for each thread.
template <typename T>
__device__ __forceinline__ void quantities(int quantity, int depth, const T* left, const T* right, long long n_rows,
                                           long long n_cols, long long row, long long col, const T* left_lengths,
                                           const T* right_lengths, T out[EACH][EACH]) {
    __shared__ T rows[DEPTH][SIDE], cols[DEPTH][SIDE];
    int x = threadIdx.x, y = threadIdx.y, thread = y * THREADS + x;
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) out[i][j] = 0;
    for (int first = 0; first < depth; first += DEPTH) {
        int here = min(DEPTH, depth - first);
        __syncthreads();
        for (int at = thread; at < DEPTH * SIDE; at += THREADS * THREADS) {
            int k = at / SIDE, p = at % SIDE;
            bool inside = k < here;
            rows[k][p] = inside && row + p < n_rows ? left[(long long)(first + k) * n_rows + row + p] : (T)0;
            cols[k][p] = inside && col + p < n_cols ? right[(long long)(first + k) * n_cols + col + p] : (T)0;
        }
        __syncthreads();
        for (int k = 0; k < here; k++) {
            T a[EACH], b[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                a[i] = rows[k][y + i * THREADS];
                b[i] = cols[k][x + i * THREADS];
            }
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++) {
                    T d = a[i] - b[j];
                    if (quantity == SQUARED) out[i][j] += d * d;
                    else if (quantity == L1) out[i][j] += size_of(d);
                    else out[i][j] += a[i] * b[j];
                }
        }
    }
    if (quantity == COSINE || quantity == SHIFTED) {
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                long long r = row + y + i * THREADS, c = col + x + j * THREADS;
                T lengths = r < n_rows && c < n_cols ? left_lengths[r] * right_lengths[c] : (T)1;
                out[i][j] = ((quantity == SHIFTED ? (T)1 : (T)0) + out[i][j]) / lengths;
            }
    }
}

// out (+)= sum_f weights_f f(quantity), for the row points from `first` on.
template <typename T>
__device__ __forceinline__ void combine(int quantity, int depth, const T* left, const T* right, long long n_rows,
                                        long long n_cols, long long first, long long n_out, const T* left_lengths,
                                        const T* right_lengths, const T* left_gates, const T* right_gates, int gated,
                                        int n_functions, const int* codes, const double* params,
                                        const double* weights, int add, T* out) {
    long long row = first + (long long)blockIdx.y * SIDE, col = (long long)blockIdx.x * SIDE;
    T q[EACH][EACH], sum[EACH][EACH];
    quantities(quantity, depth, left, right, n_rows, n_cols, row, col, left_lengths, right_lengths, q);
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) sum[i][j] = 0;
    for (int f = 0; f < n_functions; f++) {
        T weight = (T)weights[f];
        if (weight == 0) continue;
        int code = codes[f];
        T a = (T)params[2 * f], b = (T)params[2 * f + 1];
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) sum[i][j] += weight * value_of(code, a, b, q[i][j]);
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            long long r = row + threadIdx.y + i * THREADS, c = col + threadIdx.x + j * THREADS;
            if (r >= first + n_out || c >= n_cols) continue;
            T value = sum[i][j];
            if (gated) value *= left_gates[r] * right_gates[c];
            T* place = out + (r - first) * n_cols + c;
            *place = add ? *place + value : value;
        }
}

// partial[(block * n_functions + f)] = <f(quantity), M> over the tile of a block.
template <typename T>
__device__ __forceinline__ void project(int quantity, int depth, const T* left, const T* right, long long n_rows,
                                        long long n_cols, const T* left_lengths, const T* right_lengths,
                                        const T* left_gates, const T* right_gates, int gated, int n_functions,
                                        const int* codes, const double* params, int lower, int rank, const double* u,
                                        const double* v, double* partial) {
    long long row = (long long)blockIdx.y * SIDE, col = (long long)blockIdx.x * SIDE;
    long long block = (long long)blockIdx.y * gridDim.x + blockIdx.x;
    T q[EACH][EACH];
    double with[EACH][EACH];
    quantities(quantity, depth, left, right, n_rows, n_cols, row, col, left_lengths, right_lengths, q);
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            long long r = row + threadIdx.y + i * THREADS, c = col + threadIdx.x + j * THREADS;
            double value = 0;
            if (r < n_rows && c < n_cols) {
                if (rank > 0) {
                    for (int k = 0; k < rank; k++) value += u[r * rank + k] * v[c * rank + k];
                } else {
                    value = lower && c > r ? u[c * n_cols + r] : u[r * n_cols + c];
                }
                if (gated) value *= (double)left_gates[r] * (double)right_gates[c];
            }
            with[i][j] = value;
        }
    __shared__ double warps[THREADS * THREADS / 32];
    int thread = threadIdx.y * THREADS + threadIdx.x;
    for (int f = 0; f < n_functions; f++) {
        int code = codes[f];
        T a = (T)params[2 * f], b = (T)params[2 * f + 1];
        double sum = 0;
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) sum += (double)value_of(code, a, b, q[i][j]) * with[i][j];
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (thread % 32 == 0) warps[thread / 32] = sum;
        __syncthreads();
        if (thread == 0) {
            double all = 0;
            for (int w = 0; w < THREADS * THREADS / 32; w++) all += warps[w];
            partial[block * n_functions + f] = all;
        }
        __syncthreads();
    }
}

// out[i][c] = sum_j a[i][j] v[j][c], one block for each row, in double.
template <typename T>
__device__ __forceinline__ void times(long long n_cols, int n_vectors, const T* a, const double* v, double* out) {
    const int at_once = 8;
    __shared__ double warps[8][at_once];
    long long row = blockIdx.x;
    int thread = threadIdx.x;
    for (int first = 0; first < n_vectors; first += at_once) {
        int here = min(at_once, n_vectors - first);
        double sums[at_once];
#pragma unroll
        for (int c = 0; c < at_once; c++) sums[c] = 0;
        for (long long j = thread; j < n_cols; j += 256) {
            double value = (double)a[row * n_cols + j];
#pragma unroll
            for (int c = 0; c < at_once; c++)
                if (c < here) sums[c] += value * v[j * n_vectors + first + c];
        }
#pragma unroll
        for (int c = 0; c < at_once; c++) {
            for (int offset = 16; offset > 0; offset >>= 1) sums[c] += __shfl_down_sync(0xffffffffu, sums[c], offset);
            if (thread % 32 == 0) warps[thread / 32][c] = sums[c];
        }
        __syncthreads();
        if (thread < here) {
            double all = 0;
            for (int w = 0; w < 8; w++) all += warps[w][thread];
            out[row * n_vectors + first + thread] = all;
        }
        __syncthreads();
    }
}

#define FOR_TYPE(T)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        combine_##T(int quantity, int depth, const T* left, const T* right, long long n_rows, long long n_cols,       \
                    long long first, long long n_out, const T* left_lengths, const T* right_lengths,                  \
                    const T* left_gates, const T* right_gates, int gated, int n_functions, const int* codes,          \
                    const double* params, const double* weights, int add, T* out) {                                  \
        combine<T>(quantity, depth, left, right, n_rows, n_cols, first, n_out, left_lengths, right_lengths,           \
                   left_gates, right_gates, gated, n_functions, codes, params, weights, add, out);                    \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        project_##T(int quantity, int depth, const T* left, const T* right, long long n_rows, long long n_cols,       \
                    const T* left_lengths, const T* right_lengths, const T* left_gates, const T* right_gates,         \
                    int gated, int n_functions, const int* codes, const double* params, int lower, int rank,          \
                    const double* u, const double* v, double* partial) {                                              \
        project<T>(quantity, depth, left, right, n_rows, n_cols, left_lengths, right_lengths, left_gates,             \
                   right_gates, gated, n_functions, codes, params, lower, rank, u, v, partial);                       \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256)                                                                 \
        times_##T(long long n_cols, int n_vectors, const T* a, const double* v, double* out) {                        \
        times<T>(n_cols, n_vectors, a, v, out);                                                                       \
    }

FOR_TYPE(float)
FOR_TYPE(double)

// sums[f] = sum over blocks of partial[block * n_functions + f], one block for each function.
extern "C" __global__ void __launch_bounds__(256)
    add_partial(long long n_blocks, int n_functions, const double* partial, double* sums) {
    __shared__ double all[256];
    int thread = threadIdx.x;
    double sum = 0;
    for (long long block = thread; block < n_blocks; block += 256) sum += partial[block * n_functions + blockIdx.x];
    all[thread] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (thread < half) all[thread] += all[thread + half];
        __syncthreads();
    }
    if (thread == 0) sums[blockIdx.x] = all[0];
}

// a[i][i] += shift
extern "C" __global__ void add_diagonal(long long n, double shift, double* a) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i * n + i] += shift;
}

// out[i] = a[i][i]
extern "C" __global__ void diagonal(long long n, const double* a, double* out) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i * n + i];
}

// The half with column > row becomes that with row > column, in row-major order.
extern "C" __global__ void mirror(long long n, double* a) {
    __shared__ double tile[32][33];
    if (blockIdx.x > blockIdx.y) return;
    long long row = (long long)blockIdx.y * 32, col = (long long)blockIdx.x * 32;
    for (int k = threadIdx.y; k < 32; k += blockDim.y)
        if (row + k < n && col + threadIdx.x < n) tile[k][threadIdx.x] = a[(row + k) * n + col + threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += blockDim.y) {
        long long r = col + k, c = row + threadIdx.x;
        if (r < n && c < n && c > r) a[r * n + c] = tile[threadIdx.x][k];
    }
}

// f64 from f32
extern "C" __global__ void widen(long long n, const float* from, double* to) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
        to[i] = (double)from[i];
}

// The unit matrix.
extern "C" __global__ void unit(long long n, double* a) {
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at < n * n; at += (long long)gridDim.x * blockDim.x) a[at] = at / n == at % n ? 1.0 : 0.0;
}
