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

// The values of a function at 4 x 4 quantities.
template <typename T>
__device__ __forceinline__ void values_of(int code, T a, T b, const T q[EACH][EACH], T out[EACH][EACH]) {
    if (code == DECAY) {
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) out[i][j] = power_of_e(-a * q[i][j]);
    } else {
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) out[i][j] = other_value(code, a, b, q[i][j]);
    }
}

// Adds what some columns of points contribute to the quantity.
template <typename T, int QUANTITY>
__device__ __forceinline__ void add_columns(const T rows[DEPTH][SIDE], const T cols[DEPTH][SIDE], int here,
                                            T out[EACH][EACH]) {
#pragma unroll 1
    for (int k = 0; k < here; k++) {
        T a[EACH], b[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            a[i] = rows[k][threadIdx.y + i * THREADS];
            b[i] = cols[k][threadIdx.x + i * THREADS];
        }
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                T d = a[i] - b[j];
                if (QUANTITY == SQUARED) out[i][j] += d * d;
                else if (QUANTITY == L1) out[i][j] += size_of(d);
                else out[i][j] += a[i] * b[j];
            }
    }
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
    // A thread copies every fourth column of one point of each side.
    int p = thread % SIDE, high = thread / SIDE;
    bool row_inside = row + p < n_rows, col_inside = col + p < n_cols;
    const T *from_left = left + high * n_rows + row + p, *from_right = right + high * n_cols + col + p;
    long long left_step = THREADS * THREADS / SIDE * n_rows, right_step = THREADS * THREADS / SIDE * n_cols;
    for (int first = 0; first < depth; first += DEPTH) {
        int here = min(DEPTH, depth - first);
        __syncthreads();
        const T *a = from_left + first * n_rows, *b = from_right + first * n_cols;
#pragma unroll
        for (int k = high; k < DEPTH; k += THREADS * THREADS / SIDE, a += left_step, b += right_step) {
            rows[k][p] = k < here && row_inside ? *a : (T)0;
            cols[k][p] = k < here && col_inside ? *b : (T)0;
        }
        __syncthreads();
        if (quantity == SQUARED) add_columns<T, SQUARED>(rows, cols, here, out);
        else if (quantity == L1) add_columns<T, L1>(rows, cols, here, out);
        else add_columns<T, INNER>(rows, cols, here, out);
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
        T values[EACH][EACH];
        values_of(code, (T)params[2 * f], (T)params[2 * f + 1], q, values);
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) sum[i][j] += weight * values[i][j];
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
#pragma unroll 1
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
        T values[EACH][EACH];
        values_of(code, (T)params[2 * f], (T)params[2 * f + 1], q, values);
        double sum = 0;
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++) sum += (double)values[i][j] * with[i][j];
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

// Coefficients of a profile on a segment: a quintic, or a cubic, whose error is below rounding in float.
template <typename T>
constexpr int COEFFICIENTS = sizeof(T) == sizeof(float) ? 4 : 6;

// sum_f weights_f f(distance) as one function: a polynomial on each segment, which the top bits of the distance name.
// Coefficients of one degree lie side by side: neighbouring segments are in different banks then.
__device__ __forceinline__ double profile_of(const double* table, int first, int last, double scale, double q) {
    int high = __double2hiint(q), low = __double2loint(q), segment = (high >> 16) - first, n = last + 1;
    double within = __hiloint2double((__funnelshift_l(low, high, 4) & 0xfffff) | 0x3ff00000, low << 4);
    double r = segment < 0 ? q * scale : 2 * within - 3;
    const double* a = table + (segment < 0 ? 0 : min(segment + 1, last));
    return a[0] + r * (a[n] + r * (a[2 * n] + r * (a[3 * n] + r * (a[4 * n] + r * a[5 * n]))));
}

__device__ __forceinline__ float profile_of(const float* table, int first, int last, double scale, float q) {
    // An exponent of float is smaller by 1023 - 127.
    int bits = __float_as_int(q), segment = (bits >> 19) - (first - (896 << 4)), n = last + 1;
    float within = __int_as_float(((bits & 0x7ffff) << 4) | 0x3f800000);
    float r = segment < 0 ? q * (float)scale : 2 * within - 3;
    const float* a = table + (segment < 0 ? 0 : min(segment + 1, last));
    return a[0] + r * (a[n] + r * (a[2 * n] + r * a[3 * n]));
}

// The tile of this number: of all, row by row, or of those on and below the diagonal.
__device__ __forceinline__ int2 tile_of(int tile, int wide, int symmetric) {
    if (!symmetric) return make_int2(tile / wide, tile % wide);
    int row = (int)((sqrtf(8.0f * tile + 1) - 1) / 2);
    while ((long long)row * (row + 1) / 2 > tile) row--;
    while ((long long)(row + 1) * (row + 2) / 2 <= tile) row++;
    return make_int2(row, (int)(tile - (long long)row * (row + 1) / 2));
}

// out (+)= profile(distance), for the row points from `first` on; where rows and columns are the same points, half of the
// tiles, each with its mirror image. Blocks take one tile after another, as each has to fetch the table first.
template <typename T>
__device__ __forceinline__ void profile(int quantity, int depth, const T* left, const T* right, long long n_rows,
                                        long long n_cols, long long first, long long n_out, int symmetric,
                                        int first_bits, int last, double scale, const double* lines, int add, T* out) {
    extern __shared__ double memory[];
    // Two, so that one is filled while the other is still read.
    __shared__ T turned[2][THREADS][SIDE + 1];
    T* table = (T*)memory;
    int x = threadIdx.x, y = threadIdx.y, thread = y * THREADS + x;
    for (int at = thread; at < COEFFICIENTS<T> * (last + 1); at += THREADS * THREADS) table[at] = (T)lines[at];
    __syncthreads();
    int wide = (int)((n_cols + SIDE - 1) / SIDE), high = (int)((n_out + SIDE - 1) / SIDE);
    int n_tiles = symmetric ? (int)((long long)wide * (wide + 1) / 2) : wide * high;
    long long step = THREADS * n_cols;
    for (int tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        int2 place = tile_of(tile, wide, symmetric);
        long long row = first + (long long)place.x * SIDE, col = (long long)place.y * SIDE;
        bool mirrored = symmetric && place.x != place.y;
        // Most tiles need no check of their edges.
        bool whole = row + SIDE <= first + n_out && col + SIDE <= n_cols;
        T q[EACH][EACH];
        quantities(quantity, depth, left, right, n_rows, n_cols, row, col, (const T*)0, (const T*)0, q);
        T* here = out + (row - first + y) * n_cols + col + x;
        T* across = out + (col + y) * n_cols + row + x;
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            T* at = here + j * THREADS;
#pragma unroll
            for (int i = 0; i < EACH; i++, at += step) {
                T value = profile_of(table, first_bits, last, scale, q[i][j]);
                if (whole || (row + y + i * THREADS < first + n_out && col + x + j * THREADS < n_cols)) {
                    if (add) value += *at;
                    *at = value;
                }
                if (mirrored) turned[j % 2][x][y + i * THREADS] = value;
            }
            if (mirrored) {
                __syncthreads();
#pragma unroll
                for (int k = 0; k < SIDE; k += THREADS)
                    if (whole || row + x + k < n_rows) across[j * step + k] = turned[j % 2][y][x + k];
            }
        }
    }
}

// out[(c * n_out + i) * n_kernels + place_f] = sum_j f(quantity_ij) v[j][c] for F functions and C vectors, from
// `vector` on. One block for 64 rows.
template <typename T, int F, int C>
__device__ __forceinline__ void apply(int quantity, int depth, const T* left, const T* right, long long n_rows,
                                      long long n_cols, long long first, long long n_out, const T* left_lengths,
                                      const T* right_lengths, const T* left_gates, const T* right_gates, int gated,
                                      int n_functions, const int* codes, const double* params, const int* places,
                                      long long n_kernels, int n_vectors, int vector, const double* v, double* out) {
    __shared__ double with[C][SIDE];
    long long row = first + (long long)blockIdx.x * SIDE;
    int x = threadIdx.x, thread = threadIdx.y * THREADS + x;
    double sums[F][C][EACH];
#pragma unroll
    for (int f = 0; f < F; f++)
#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
            for (int i = 0; i < EACH; i++) sums[f][c][i] = 0;
#pragma unroll 1
    for (long long col = 0; col < n_cols; col += SIDE) {
        T q[EACH][EACH];
        quantities(quantity, depth, left, right, n_rows, n_cols, row, col, left_lengths, right_lengths, q);
        __syncthreads();
        for (int at = thread; at < C * SIDE; at += THREADS * THREADS) {
            int c = at / SIDE;
            long long j = col + at % SIDE;
            double value = j < n_cols && vector + c < n_vectors ? v[j * n_vectors + vector + c] : 0;
            with[c][at % SIDE] = gated && j < n_cols ? value * (double)right_gates[j] : value;
        }
        __syncthreads();
        // Not unrolled, which keeps the code small: the sums of a function are fetched and put back.
#pragma unroll 1
        for (int f = 0; f < n_functions; f++) {
            T values[EACH][EACH];
            values_of(codes[f], (T)params[2 * f], (T)params[2 * f + 1], q, values);
#pragma unroll
            for (int c = 0; c < C; c++)
#pragma unroll
                for (int i = 0; i < EACH; i++) {
                    double sum = sums[f][c][i];
#pragma unroll
                    for (int j = 0; j < EACH; j++) sum += (double)values[i][j] * with[c][x + j * THREADS];
                    sums[f][c][i] = sum;
                }
        }
    }
#pragma unroll 1
    for (int f = 0; f < n_functions; f++)
#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                double sum = sums[f][c][i];
                for (int offset = 8; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset, 16);
                long long r = row + threadIdx.y + i * THREADS;
                if (x > 0 || vector + c >= n_vectors || r >= first + n_out) continue;
                if (gated) sum *= (double)left_gates[r];
                out[((long long)(vector + c) * n_out + r - first) * n_kernels + places[f]] = sum;
            }
}

// partial[(part * n_cols + j) * n_vectors + c] = sum over the rows i of a part and over functions of
// f(quantity_ij) g[(c * n_out + i) * n_kernels + place_f], for C vectors from `vector` on. One block for 64 columns.
template <typename T, int C>
__device__ __forceinline__ void pull(int quantity, int depth, const T* left, const T* right, long long n_rows,
                                     long long n_cols, long long first, long long n_out, const T* left_lengths,
                                     const T* right_lengths, const T* left_gates, const T* right_gates, int gated,
                                     int n_functions, const int* codes, const double* params, const int* places,
                                     long long n_kernels, int n_vectors, int vector, const double* g,
                                     long long part_rows, double* partial) {
    const int at_once = 8;
    __shared__ double with[C][at_once][SIDE];
    __shared__ double warps[8][C][SIDE];
    long long col = (long long)blockIdx.x * SIDE;
    long long begin = first + (long long)blockIdx.y * part_rows, end = min(begin + part_rows, first + n_out);
    int x = threadIdx.x, y = threadIdx.y, thread = y * THREADS + x;
    double sums[C][EACH];
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < EACH; j++) sums[c][j] = 0;
    for (long long row = begin; row < end; row += SIDE) {
        T q[EACH][EACH];
        quantities(quantity, depth, left, right, n_rows, n_cols, row, col, left_lengths, right_lengths, q);
        for (int from = 0; from < n_functions; from += at_once) {
            int here = min(at_once, n_functions - from);
            __syncthreads();
            for (int at = thread; at < C * here * SIDE; at += THREADS * THREADS) {
                int p = at % SIDE, f = at / SIDE % here, c = at / SIDE / here;
                long long r = row + p;
                double value = 0;
                if (r < end && vector + c < n_vectors)
                    value = g[((long long)(vector + c) * n_out + r - first) * n_kernels + places[from + f]];
                with[c][f][p] = gated && r < end ? value * (double)left_gates[r] : value;
            }
            __syncthreads();
#pragma unroll 1
            for (int f = 0; f < here; f++) {
                int k = from + f;
                T values[EACH][EACH];
                values_of(codes[k], (T)params[2 * k], (T)params[2 * k + 1], q, values);
#pragma unroll
                for (int i = 0; i < EACH; i++)
#pragma unroll
                    for (int j = 0; j < EACH; j++)
#pragma unroll
                        for (int c = 0; c < C; c++) sums[c][j] += (double)values[i][j] * with[c][f][y + i * THREADS];
            }
        }
    }
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            double sum = sums[c][j] + __shfl_down_sync(0xffffffffu, sums[c][j], 16);
            if (thread % 32 < 16) warps[thread / 32][c][x + j * THREADS] = sum;
        }
    __syncthreads();
    for (int at = thread; at < C * SIDE; at += THREADS * THREADS) {
        int c = at / SIDE;
        long long j = col + at % SIDE;
        if (j >= n_cols || vector + c >= n_vectors) continue;
        double all = 0;
        for (int w = 0; w < 8; w++) all += warps[w][c][at % SIDE];
        if (gated) all *= (double)right_gates[j];
        partial[((long long)blockIdx.y * n_cols + j) * n_vectors + vector + c] = all;
    }
}

// out[i][j] = sqrt(weights_i) a[i][j], in double.
template <typename T>
__device__ __forceinline__ void weigh(long long n_rows, long long n_cols, const double* weights, const T* a,
                                      double* out) {
    for (long long row = blockIdx.x; row < n_rows; row += gridDim.x) {
        double root = sqrt(weights[row]);
        for (long long j = threadIdx.x; j < n_cols; j += blockDim.x)
            out[row * n_cols + j] = root * (double)a[row * n_cols + j];
    }
}

#define FOR_COUNT(T, F, C, NAME)                                                                                      \
    extern "C" __global__ void __launch_bounds__(256, 2)                                                              \
        apply_##NAME##_##T(int quantity, int depth, const T* left, const T* right, long long n_rows, long long n_cols,\
                           long long first, long long n_out, const T* left_lengths, const T* right_lengths,           \
                           const T* left_gates, const T* right_gates, int gated, int n_functions, const int* codes,   \
                           const double* params, const int* places, long long n_kernels, int n_vectors, int vector,   \
                           const double* v, double* out) {                                                            \
        apply<T, F, C>(quantity, depth, left, right, n_rows, n_cols, first, n_out, left_lengths, right_lengths,       \
                       left_gates, right_gates, gated, n_functions, codes, params, places, n_kernels, n_vectors,      \
                       vector, v, out);                                                                               \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256, 2)                                                              \
        pull_##NAME##_##T(int quantity, int depth, const T* left, const T* right, long long n_rows, long long n_cols, \
                          long long first, long long n_out, const T* left_lengths, const T* right_lengths,            \
                          const T* left_gates, const T* right_gates, int gated, int n_functions, const int* codes,    \
                          const double* params, const int* places, long long n_kernels, int n_vectors, int vector,    \
                          const double* g, long long part_rows, double* partial) {                                    \
        pull<T, C>(quantity, depth, left, right, n_rows, n_cols, first, n_out, left_lengths, right_lengths,           \
                   left_gates, right_gates, gated, n_functions, codes, params, places, n_kernels, n_vectors, vector,  \
                   g, part_rows, partial);                                                                            \
    }

// Registers for so many blocks at once: three of double, four of float (measured).
#define PROFILE(T, BLOCKS)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256, BLOCKS)                                                         \
        profile_##T(int quantity, int depth, const T* left, const T* right, long long n_rows, long long n_cols,       \
                    long long first, long long n_out, int symmetric, int first_bits, int last, double scale,          \
                    const double* lines, int add, T* out) {                                                           \
        profile<T>(quantity, depth, left, right, n_rows, n_cols, first, n_out, symmetric, first_bits, last, scale,    \
                   lines, add, out);                                                                                  \
    }
PROFILE(float, 4)
PROFILE(double, 3)

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
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256) weigh_##T(long long n_rows, long long n_cols,                   \
                                                                const double* weights, const T* a, double* out) {     \
        weigh<T>(n_rows, n_cols, weights, a, out);                                                                    \
    }                                                                                                                 \
    FOR_COUNT(T, 8, 1, one)                                                                                           \
    FOR_COUNT(T, 8, 4, four)

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

// out[k] (+)= sum over parts of partial[part * size + k]
extern "C" __global__ void add_parts(long long size, long long n_parts, int add, const double* partial, double* out) {
    long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= size) return;
    double sum = add ? out[k] : 0;
    for (long long part = 0; part < n_parts; part++) sum += partial[part * size + k];
    out[k] = sum;
}

// a = scale a + shift 11' + diag(d)
extern "C" __global__ void shift(long long n, double scale, double shift, const double* d, double* a) {
    for (long long i = blockIdx.x; i < n; i += gridDim.x)
        for (long long j = threadIdx.x; j < n; j += blockDim.x) {
            double value = scale * a[i * n + j] + shift;
            a[i * n + j] = i == j ? value + d[i] : value;
        }
}

// a = factor (u u' - a) (+ sum)
extern "C" __global__ void slope(long long n, double factor, const double* u, int add, const double* sum, double* a) {
    for (long long i = blockIdx.x; i < n; i += gridDim.x)
        for (long long j = threadIdx.x; j < n; j += blockDim.x) {
            double value = factor * (u[i] * u[j] - a[i * n + j]);
            a[i * n + j] = add ? sum[i * n + j] + value : value;
        }
}

// out[i] = sum_{j <= i} a[i][j] v[j], one block for each row.
extern "C" __global__ void __launch_bounds__(256) lower_times(long long n, const double* a, const double* v, double* out) {
    __shared__ double all[256];
    long long row = blockIdx.x;
    int thread = threadIdx.x;
    double sum = 0;
    for (long long j = thread; j <= row; j += 256) sum += a[row * n + j] * v[j];
    all[thread] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (thread < half) all[thread] += all[thread + half];
        __syncthreads();
    }
    if (thread == 0) out[row] = all[0];
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
