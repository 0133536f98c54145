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

// --- products with the rows ---------------------------------------------------------------------------------------

// out_i = x_i·v + shift for dense rows: one warp per row, sums in double precision.
template <typename T>
__global__ void dense_dot(const T* X, long long n, int d, const double* v, double shift, double* out) {
    long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5;
    long long warps = ((long long)gridDim.x * blockDim.x) >> 5;
    int lane = threadIdx.x & 31;
    for (long long i = warp; i < n; i += warps) {
        const T* row = X + i * d;
        double sum = 0.0;
        for (int j = lane; j < d; j += 32) sum += (double)row[j] * v[j];
        for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
        if (lane == 0) out[i] = sum + shift;
    }
}

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

// partial[block][k][j] = sum over the block's rows of c_k,i x_i,j, for K rows of coefficients. A block has
// `columns` threads side by side and blockDim.x / columns rows at a time; blockIdx.y selects the columns.
template <typename T, int K>
__global__ void dense_sums(const T* X, long long n, int d, int columns, const double* c, long long stride,
                           long long rows_per_block, double* partial) {
    extern __shared__ double shared[];
    int rows = blockDim.x / columns, mine = threadIdx.x / columns;
    int j = blockIdx.y * columns + threadIdx.x % columns;
    long long first = blockIdx.x * rows_per_block;
    long long last = first + rows_per_block < n ? first + rows_per_block : n;
    double sums[K];
    for (int k = 0; k < K; k++) sums[k] = 0.0;
    if (mine < rows && j < d)
        for (long long i = first + mine; i < last; i += rows) {
            double x = (double)X[i * d + j];
            for (int k = 0; k < K; k++) sums[k] += c[k * stride + i] * x;
        }
    for (int k = 0; k < K; k++) {
        shared[threadIdx.x] = sums[k];
        __syncthreads();
        if (mine == 0 && j < d) {
            double total = 0.0;
            for (int r = 0; r < rows; r++) total += shared[r * columns + threadIdx.x];
            partial[(blockIdx.x * (long long)K + k) * d + j] = total;
        }
        __syncthreads();
    }
}

// The first 16 bits of a float, rounded to the nearest.
struct bfloat16 {
    unsigned short bits;
    __device__ bfloat16(double value) {
        unsigned int all = __float_as_uint((float)value);
        bits = (all + 0x7fff + ((all >> 16) & 1)) >> 16;
    }
};

// out = sqrt(h_i) x_i: one warp per row.
template <typename T, typename U>
__global__ void scale_rows(const T* X, long long n, int d, const double* h, U* out) {
    long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5;
    long long warps = (long long)gridDim.x * blockDim.x >> 5;
    for (long long i = warp; i < n; i += warps) {
        double root = sqrt(h[i]);
        for (int j = threadIdx.x & 31; j < d; j += 32) out[i * d + j] = U(root * (double)X[i * d + j]);
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
        if (i < n)
            for (long long k = indptr[i] + lane; k < indptr[i + 1]; k += LANES) sum += (double)data[k] * v[indices[k]];
        for (int step = LANES / 2; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step, LANES);
        if (lane == 0 && i < n) out[i] = sum + shift;
    }
}

// Adds to out[k][j] the sum of c_k,i x_i,j over some entries of column j of a CSC matrix, for K rows of coefficients. A
// block takes one part: the entries begin … end - 1 of a column.
template <typename T, int K>
__global__ void sparse_sums(const T* data, const int* rows, const int* column, const long long* begin,
                            const long long* end, long long d, const double* c, long long stride, double* out) {
    double sums[K];
    for (int k = 0; k < K; k++) sums[k] = 0.0;
    for (long long p = begin[blockIdx.x] + threadIdx.x; p < end[blockIdx.x]; p += blockDim.x) {
        double x = (double)data[p];
        for (int k = 0; k < K; k++) sums[k] += c[k * stride + rows[p]] * x;
    }
    for (int k = 0; k < K; k++) {
        double value = sums[k];
        for (int step = 16; step > 0; step >>= 1) value += __shfl_down_sync(0xffffffff, value, step);
        if ((threadIdx.x & 31) == 0 && value != 0.0) atomicAdd(&out[k * d + column[blockIdx.x]], value);
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
