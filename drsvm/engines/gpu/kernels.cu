// Kernels of the GPU engine. The mathematics of a sample is in the namespace `samples` (see cuda_translation.py); the sums
// of a block of threads are written to one row of `partial`, and these rows are added later in a fixed order, so that
// results can be repeated. (Only bins, and Gram matrices and sums of sparse rows, are added by atomicAdd in any order.)
//
// A warp is 32 threads, numbered by `lane`, that run at the same time. __shfl_down_sync(…, x, step) is the x of the thread
// `step` lanes further: after the steps 16, 8, 4, 2, 1, lane 0 has the sum (or the minimum) over the whole warp.
// __shared__ memory is that of a block, and __syncthreads() waits until all its threads have written to it.

#define INF __longlong_as_double(0x7ff0000000000000LL)

// --- sums of a block ----------------------------------------------------------------------------------------------

// Adds up K numbers of every thread: first those of each warp, then those of the warps.
template <int K>
__device__ void write_sums(samples::Values<K> sums, double* partial) {
    const double* mine = sums.at;
    __shared__ double shared[K][32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int k = 0; k < K; k++) {
        double value = mine[k];
        for (int step = 16; step > 0; step >>= 1) value += __shfl_down_sync(0xffffffff, value, step);
        if (lane == 0) shared[k][warp] = value;
    }
    __syncthreads();
    if (threadIdx.x < K) {
        double total = 0.0;
        for (int w = 0; w < (int)(blockDim.x >> 5); w++) total += shared[threadIdx.x][w];
        partial[blockIdx.x * (long long)K + threadIdx.x] = total;
    }
}

// The same for the smallest of K numbers.
template <int K>
__device__ void write_smallest(const double* mine, double* partial) {
    __shared__ double shared[K][32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int k = 0; k < K; k++) {
        double value = mine[k];
        for (int step = 16; step > 0; step >>= 1) value = fmin(value, __shfl_down_sync(0xffffffff, value, step));
        if (lane == 0) shared[k][warp] = value;
    }
    __syncthreads();
    if (threadIdx.x < K) {
        double least = shared[threadIdx.x][0];
        for (int w = 1; w < (int)(blockDim.x >> 5); w++) least = fmin(least, shared[threadIdx.x][w]);
        partial[blockIdx.x * (long long)K + threadIdx.x] = least;
    }
}

// The bins of a block of threads; they are added to those of all blocks in the end.
__device__ void clear_bins(double* mine) {
    for (int k = threadIdx.x; k < 2 * (BINS + 1); k += blockDim.x) mine[k] = 0.0;
    __syncthreads();
}

__device__ void add_bins(const double* mine, double* bins) {
    __syncthreads();
    for (int k = threadIdx.x; k < 2 * (BINS + 1); k += blockDim.x)
        if (mine[k] != 0.0) atomicAdd(&bins[k], mine[k]);
}

// Updates the smallest rate, and adds the weight of a sample that allows only a short step to that step's bin.
__device__ void record(double rate, double weight, double& smallest, double* bins) {
    if (rate != rate) {  // NaN counts as the shortest step
        smallest = -INF;
        atomicAdd(&bins[0], INF);
    } else {
        smallest = fmin(smallest, rate);
        if (rate < -1.0) atomicAdd(&bins[(int)(-BINS / rate)], weight);
    }
}

// --- passes over the samples --------------------------------------------------------------------------------------

// Rates of change on their way to the smallest one and to the bins.
struct Rates {
    samples::Tile tile;
    double *least, *bins;
    __device__ void set(int k, long long i, double rate) const {
        record(rate, tile.weights(i), least[k], bins + k * (BINS + 1));
    }
};

// What all these kernels take first, and the same as objects for the translated functions.
#define SAMPLES double *state, long long n, double *weights, double *signs, double *flips, double *slopes, int step
#define TILE samples::Tile{{state, n}, {weights}, {signs}, {flips, step}, {slopes, step}, n}
#define STEP double target, double lam_change, double primal, double dual, double left
#define ALONG samples::Step{target, lam_change, primal, dual, left}

#ifdef PLAIN

extern "C" __global__ void center(SAMPLES, double* margins, double lam, double mu) {
    samples::center(TILE, samples::Entries{margins}, lam, mu);
}

extern "C" __global__ void curvature(SAMPLES, double* h, double* coefficients, double* partial) {
    write_sums(samples::curvature(TILE, samples::Entries{h}, samples::Rows{coefficients, n}), partial);
}

extern "C" __global__ void predict(SAMPLES, double* dm, double dlam, double* correction, double* coefficients,
                                   double* partial, double* smallest, double* bins) {
    double least[2] = {0.0, 0.0};
    __shared__ double mine[2 * (BINS + 1)];
    clear_bins(mine);
    write_sums(samples::predict(TILE, samples::Entries{dm}, dlam, samples::Rows{correction, n},
                                samples::Rows{coefficients, n}, Rates{TILE, least, mine}), partial);
    write_smallest<2>(least, smallest);
    add_bins(mine, bins);
}

extern "C" __global__ void longest_steps(SAMPLES, STEP, double* correction, double* smallest, double* bins) {
    double least[2] = {0.0, 0.0};
    __shared__ double mine[2 * (BINS + 1)];
    clear_bins(mine);
    samples::longest_steps(TILE, ALONG, samples::Rows{correction, n}, Rates{TILE, least, mine});
    write_smallest<2>(least, smallest);
    add_bins(mine, bins);
}

extern "C" __global__ void move(SAMPLES, STEP, double* correction, double* partial) {
    write_sums(samples::Values<1>{{samples::move(TILE, ALONG, samples::Rows{correction, n})}}, partial);
}

extern "C" __global__ void sides(SAMPLES, double* coefficients, double* partial) {
    write_sums(samples::sides(TILE, samples::Rows{coefficients, n}), partial);
}

// --- conjugate gradients with a Newton matrix that is not formed -------------------------------------------------

#define EACH_UNKNOWN(i, size) \
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (size); i += (long long)gridDim.x * blockDim.x)

// The image of x = (w, b, lambda): the samples' sums for d weights and, if there is an intercept, total; a diagonal; and a
// border, whose first row is the column of lambda and whose second one is the vector of a part of rank one. `products` are
// those of the border with x. lambda is unknown n.
extern "C" __global__ void newton_image(const double* sums, const double* total, const double* x, const double* diagonal,
                                        const double* border, const double* products, double coefficient, long long d,
                                        long long n, double* image) {
    EACH_UNKNOWN(i, n + 1) {
        double of_samples = i < d ? sums[i] : i < n ? *total : products[0];
        image[i] = of_samples + diagonal[i] * x[i] + border[i] * x[n] + coefficient * border[n + 1 + i] * products[1];
    }
}

// To the minimum along a step
extern "C" __global__ void descend(const double* energy, const double* curvature, const double* step, const double* image,
                                   const double* inverse, long long size, double* solution, double* residual,
                                   double* correction) {
    double length = *energy / *curvature;
    EACH_UNKNOWN(i, size) {
        solution[i] += length * step[i];
        residual[i] -= length * image[i];
        correction[i] = inverse[i] * residual[i];
    }
}

// The next step, conjugate to those before
extern "C" __global__ void turn(const double* energy, const double* last_energy, const double* correction, long long size,
                                double* step) {
    double share = *energy / *last_energy;
    EACH_UNKNOWN(i, size) step[i] = correction[i] + share * step[i];
}

#endif

// --- products with the rows ---------------------------------------------------------------------------------------

// out_i = x_i·v + shift for dense rows: a group of lanes per row, sums in double precision.
template <typename T, int LANES>
__global__ void dense_dot(const T* X, long long n, int d, const double* v, double shift, double* out) {
    long long group = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / LANES;
    long long groups = (long long)gridDim.x * blockDim.x / LANES;
    int lane = threadIdx.x % LANES;
    for (long long first = 0; first < n; first += groups) {
        long long i = first + group;
        double sum = 0.0;
        if (i < n) {
            for (int left = lane; left < d; left += 8 * LANES) {
                T x[8];  // read before the first is used
#pragma unroll
                for (int q = 0; q < 8; q++) x[q] = left + q * LANES < d ? __ldg(X + i * d + left + q * LANES) : T(0);
#pragma unroll
                for (int q = 0; q < 8; q++)
                    if (left + q * LANES < d) sum += (double)x[q] * __ldg(v + left + q * LANES);
            }
        }
        for (int step = LANES / 2; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step, LANES);
        if (lane == 0 && i < n) out[i] = sum + shift;
    }
}

#ifdef PLAIN

// out_i += sum over j of v_j exp(min(x_ij, 0)): one warp per row.
extern "C" __global__ void exponential_dot(const double* X, long long n, int d, const double* v, double* out) {
    long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5;
    long long warps = ((long long)gridDim.x * blockDim.x) >> 5;
    int lane = threadIdx.x & 31;
    for (long long i = warp; i < n; i += warps) {
        const double* row = X + i * d;
        double sum = 0.0;
        for (int j = lane; j < d; j += 32) sum += v[j] * exp(fmin(row[j], 0.0));
        for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
        if (lane == 0) out[i] += sum;
    }
}

#endif

// Writes partial[block][k][j], sums over the block's rows of K terms for every column. A block has `columns` threads side
// by side, each with C columns, and blockDim.x / columns rows at a time; blockIdx.y selects the columns.
// add(i, j, x, sums) adds the terms of an entry x.
template <typename T, int K, class Add>
__device__ void add_rows(const T* X, long long n, int d, int columns, long long rows_per_block, double* partial, Add add) {
    extern __shared__ double shared[];
    int rows = blockDim.x / columns, mine = threadIdx.x / columns;
    int left = blockIdx.y * COLUMNS * columns + threadIdx.x % columns;
    long long first = blockIdx.x * rows_per_block;
    long long last = first + rows_per_block < n ? first + rows_per_block : n;
    double sums[COLUMNS][K];
    for (int q = 0; q < COLUMNS; q++)
        for (int k = 0; k < K; k++) sums[q][k] = 0.0;
    if (mine < rows)
        for (long long low = first + mine; low < last; low += 2 * rows) {
            T x[2][COLUMNS];  // read before the first is used
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int q = 0; q < COLUMNS; q++) {
                    long long i = low + u * rows;
                    int j = left + q * columns;
                    x[u][q] = i < last && j < d ? __ldg(X + i * d + j) : T(0);
                }
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int q = 0; q < COLUMNS; q++) {
                    long long i = low + u * rows;
                    int j = left + q * columns;
                    if (i < last && j < d) add(i, j, (double)x[u][q], sums[q]);
                }
        }
    for (int q = 0; q < COLUMNS; q++)
        for (int k = 0; k < K; k++) {
            int j = left + q * columns;
            shared[threadIdx.x] = sums[q][k];
            __syncthreads();
            if (mine == 0 && j < d) {
                double total = 0.0;
                for (int r = 0; r < rows; r++) total += shared[r * columns + threadIdx.x];
                partial[(blockIdx.x * (long long)K + k) * d + j] = total;
            }
            __syncthreads();
        }
}

#define ROWS const T *X, long long n, int d, int columns, long long rows_per_block, double *partial
#define BOUNDED __launch_bounds__(256, 4)
#define EACH_ENTRY (long long i, int j, double x, double* sums)

// Sums of rows with K coefficients each.
template <typename T, int K>
__global__ void BOUNDED dense_sums(ROWS, const double* c, long long stride) {
    add_rows<T, K>(X, n, d, columns, rows_per_block, partial, [=] EACH_ENTRY {
        for (int k = 0; k < K; k++) sums[k] += __ldg(c + k * stride + i) * x;
    });
}

// Sums of c_i x and of c_i x^2, for entries x minus those of an origin.
template <typename T>
__global__ void BOUNDED dense_squares(ROWS, const double* c, const double* origin) {
    add_rows<T, 2>(X, n, d, columns, rows_per_block, partial, [=] EACH_ENTRY {
        double y = x - __ldg(origin + j), term = __ldg(c + i) * y;
        sums[0] += term;
        sums[1] += term * y;
    });
}

// The first 16 bits of a float, rounded to the nearest.
struct bfloat16 {
    unsigned short bits;
    __device__ bfloat16(double value) {
        unsigned int all = __float_as_uint((float)value);
        bits = (all + 0x7fff + ((all >> 16) & 1)) >> 16;
    }
};

// Sums of rows with three coefficients each, and out = roots_i x_i.
template <typename T, typename U>
__global__ void __launch_bounds__(256, 3) dense_scale(ROWS, const double* c, long long stride, const double* roots, U* out) {
    add_rows<T, 3>(X, n, d, columns, rows_per_block, partial, [=] EACH_ENTRY {
        for (int k = 0; k < 3; k++) sums[k] += __ldg(c + k * stride + i) * x;
        out[i * d + j] = U(__ldg(roots + i) * x);
    });
}

// Adds data[e] v_k[indices[e]] to K sums for the entries e = first, first + stride, ... below last, where v_k begins at
// v + k length. Four entries are read before the first is used.
template <typename T, int K>
__device__ void add_gathered(const T* data, const int* indices, long long first, long long last, int stride, const double* v,
                             long long length, double* sums) {
    for (long long low = first; low < last; low += 4 * stride) {
        double x[4];
        int at[4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            long long e = low + q * stride;
            x[q] = e < last ? (double)__ldg(data + e) : 0.0;
            at[q] = e < last ? __ldg(indices + e) : -1;
        }
#pragma unroll
        for (int q = 0; q < 4; q++)
            for (int k = 0; k < K; k++)
                if (at[q] >= 0) sums[k] += x[q] * __ldg(v + k * length + at[q]);
    }
}

// out_i = x_i·v + shift for sparse rows: a group of lanes per row.
template <typename T, int LANES>
__global__ void sparse_dot(const T* data, const int* indices, const long long* indptr, long long n, const double* v,
                           double shift, double* out) {
    long long group = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / LANES;
    long long groups = (long long)gridDim.x * blockDim.x / LANES;
    int lane = threadIdx.x % LANES;
    for (long long first = 0; first < n; first += groups) {
        long long i = first + group;
        double sum = 0.0;
        if (i < n) add_gathered<T, 1>(data, indices, indptr[i] + lane, indptr[i + 1], LANES, v, 0, &sum);
        for (int step = LANES / 2; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step, LANES);
        if (lane == 0 && i < n) out[i] = sum + shift;
    }
}

// Adds to out[k][j] the sum of c_k,i x_i,j over some entries of column j of a CSC matrix, for K rows of coefficients. A
// warp takes one part: the entries begin ... end - 1 of a column.
template <typename T, int K>
__global__ void sparse_sums(const T* data, const int* rows, long long parts, const int* column, const long long* begin,
                            const long long* end, long long d, const double* c, long long stride, double* out) {
    long long part = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5;
    if (part >= parts) return;
    double sums[K];
    for (int k = 0; k < K; k++) sums[k] = 0.0;
    add_gathered<T, K>(data, rows, begin[part] + (threadIdx.x & 31), end[part], 32, c, stride, sums);
    for (int k = 0; k < K; k++) {
        double sum = sums[k];
        for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
        if ((threadIdx.x & 31) == 0 && sum != 0.0) atomicAdd(&out[k * d + column[part]], sum);
    }
}

// Adds h_i x_i x_i' to some rows of the upper triangle of a matrix, for the entries begin … end - 1 of a CSC matrix,
// which belong to the columns first … last - 1. These rows of the matrix are in shared memory meanwhile. Eight threads
// take an entry: those of its row from its own place on, which belong to the same or later columns.
template <typename T>
__global__ void sparse_gram(const T* data, const int* indices, const long long* indptr, const T* by_column,
                            const int* rows, const long long* starts, const int* place, const int* first,
                            const int* last, const long long* begin, const long long* end, const double* h,
                            long long d, double* matrix) {
    extern __shared__ double tile[];
    const int LANES = 8;
    int low = first[blockIdx.x], high = last[blockIdx.x];
    long long width = d - low, size = (high - low) * width;
    for (long long k = threadIdx.x; k < size; k += blockDim.x) tile[k] = 0.0;
    __syncthreads();
    int lane = threadIdx.x % LANES, groups = blockDim.x / LANES, column = low;
    for (long long e = begin[blockIdx.x] + threadIdx.x / LANES; e < end[blockIdx.x]; e += groups) {
        while (column + 1 < high && e >= starts[column + 1]) column++;  // the column of entry e
        long long i = rows[e];
        double x = h[i] * (double)by_column[e];
        double* row = tile + (column - low) * width - low;
        for (long long k = indptr[i] + place[e] + lane; k < indptr[i + 1]; k += LANES)
            atomicAdd(&row[indices[k]], x * (double)data[k]);
    }
    __syncthreads();
    for (long long k = threadIdx.x; k < size; k += blockDim.x)
        if (tile[k] != 0.0) atomicAdd(&matrix[(low + k / width) * d + low + k % width], tile[k]);
}

// out_i = p-norm of f_j x_i,j over dense rows or, with indices, sparse ones; p is 1, 2 or 0 for the largest entry.
template <typename T>
__global__ void row_norms(const T* data, const int* indices, const long long* indptr, long long n, int d,
                          const double* factors, int p, double* out) {
    long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5;
    long long warps = ((long long)gridDim.x * blockDim.x) >> 5;
    int lane = threadIdx.x & 31;
    for (long long i = warp; i < n; i += warps) {
        long long first = indptr ? indptr[i] : i * d, last = indptr ? indptr[i + 1] : first + d;
        double sum = 0.0;
        for (long long k = first + lane; k < last; k += 32) {
            double x = fabs((double)data[k]);
            if (factors) x *= factors[indices ? indices[k] : k - first];
            sum = p == 0 ? fmax(sum, x) : sum + (p == 2 ? x * x : x);
        }
        for (int step = 16; step > 0; step >>= 1) {
            double other = __shfl_down_sync(0xffffffff, sum, step);
            sum = p == 0 ? fmax(sum, other) : sum + other;
        }
        if (lane == 0) out[i] = p == 2 ? sqrt(sum) : sum;
    }
}
