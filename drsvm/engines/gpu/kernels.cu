// Kernels of the GPU engine. The mathematics of a sample is that of drsvm/kernels/interior_point.py, in the same order;
// sums of a block of threads are written to one row of `partial`, so that results can be repeated.
//
// The state of n samples are the rows alpha, beta, gamma, g1, g2, g3, each of length n. `flips` and `kappa` are arrays
// with a step of 1, or single numbers with a step of 0.

#define INF __longlong_as_double(0x7ff0000000000000LL)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL)
#define MOST_CORRECTION 2.0
#define BINS 512
#define FOR_EACH_SAMPLE(i, n) \
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); i += (long long)gridDim.x * blockDim.x)

// --- sums of a block ----------------------------------------------------------------------------------------------

template <int K>
__device__ void write_sums(const double* mine, double* partial) {
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

// --- one sample ---------------------------------------------------------------------------------------------------

struct Ratios {
    double i1, i2, i3, d1, d2, d3, inverse;
};

struct Change {
    double da, db, dc, e1, e2, e3;
};

__device__ Ratios ratios(const double* state, long long n, long long i) {
    Ratios r;
    r.i1 = 1.0 / state[3 * n + i], r.i2 = 1.0 / state[4 * n + i], r.i3 = 1.0 / state[5 * n + i];
    r.d1 = state[i] * r.i1, r.d2 = state[n + i] * r.i2, r.d3 = state[2 * n + i] * r.i3;
    r.inverse = 1.0 / (r.d1 + r.d2 + r.d3);
    return r;
}

__device__ Change direction(const double* state, long long n, long long i, double flip, const Ratios& r, double p1,
                            double p2, double p3, double pi, double dm, double kdl) {
    double ds = (p1 + p2 + p3 - pi - (r.d1 - r.d2) * dm - r.d2 * kdl) * r.inverse;
    double g1 = ds + dm, g2 = flip * (ds - dm + kdl);
    return Change{p1 - state[i] - r.d1 * g1, p2 - state[n + i] - r.d2 * g2, p3 - state[2 * n + i] - r.d3 * ds, g1, g2, ds};
}

__device__ Change corrected(const double* state, long long n, long long i, double pi, double flip, double target,
                            const double* correction, double dm, double kdl, Ratios& r) {
    r = ratios(state, n, i);
    double goal = target * pi;
    double p1 = (goal - correction[i]) * r.i1, p3 = (goal - correction[2 * n + i]) * r.i3;
    double p2 = flip * (goal - correction[n + i]) * r.i2;
    return direction(state, n, i, flip, r, p1, p2, p3, pi, dm, kdl);
}

__device__ double moderate(double correction, double product) {
    double most = MOST_CORRECTION * product;
    return fmin(fmax(correction, -most), most);
}

__device__ void right_hand_side(double p1, double p2, double p3, const Ratios& r, double& row, double& level) {
    double share = (p1 + p2 + p3) * r.inverse;
    row = p2 - p1 + (r.d1 - r.d2) * share;
    level = p2 - r.d2 * share;
}

__device__ double outlier(double product, double goal) {
    double low = 0.1 * goal, high = 10.0 * goal;
    return fmin(0.0, product - low) + fmin(fmax(0.0, product - high), high);
}

// fmin ignores NaN, which must not be lost.
__device__ double least_of(double a, double b, double c) {
    return a != a || b != b || c != c ? NOT_A_NUMBER : fmin(a, fmin(b, c));
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
    if (rate != rate) {
        smallest = -INF;
        atomicAdd(&bins[0], INF);
    } else {
        smallest = fmin(smallest, rate);
        if (rate < -1.0) atomicAdd(&bins[(int)(-BINS / rate)], weight);
    }
}

// --- passes over the samples --------------------------------------------------------------------------------------

extern "C" __global__ void center(double* state, long long n, const double* weights, const double* margins,
                                  const double* flips, const double* kappa, int step, double level, double mu) {
    FOR_EACH_SAMPLE(i, n) {
        double flip = flips[i * step];
        double hinge = 1.0 - margins[i], flipped = 1.0 + margins[i] - kappa[i * step] * level;
        double top = fmax(hinge, 0.0);
        flipped = flip * flipped + (1.0 - flip) * top;
        top = fmax(top, flipped);
        double above = mu;
        for (int k = 0; k < 8; k++) {
            double r1 = mu / (above + (top - hinge)), r2 = flip * mu / (above + (top - flipped)), r3 = mu / (above + top);
            above += (r1 + r2 + r3 - 1.0) * mu / (r1 * r1 + r2 * r2 + r3 * r3);
        }
        double g1 = above + (top - hinge), g2 = above + (top - flipped), g3 = above + top;
        double r1 = 1.0 / g1, r2 = flip / g2, r3 = 1.0 / g3;
        double share = weights[i] / (r1 + r2 + r3);
        state[i] = share * r1, state[n + i] = share * r2, state[2 * n + i] = share * r3;
        state[3 * n + i] = g1, state[4 * n + i] = flip * g2 + (1.0 - flip), state[5 * n + i] = g3;
    }
}

extern "C" __global__ void curvature(const double* state, long long n, const double* weights, const double* signs,
                                     const double* kappa, int step, double* h, double* coefficients, double* partial) {
    double sums[2] = {0.0, 0.0};
    FOR_EACH_SAMPLE(i, n) {
        double cost = kappa[i * step];
        Ratios r = ratios(state, n, i);
        h[i] = (4.0 * r.d1 * r.d2 + r.d3 * (r.d1 + r.d2)) * r.inverse;
        coefficients[i] = -signs[i] * cost * r.d2 * (2.0 * r.d1 + r.d3) * r.inverse;
        coefficients[n + i] = signs[i] * (r.d2 - r.d1) * weights[i] * r.inverse;
        sums[0] += cost * cost * r.d2 * (r.d1 + r.d3) * r.inverse;
        sums[1] -= cost * r.d2 * weights[i] * r.inverse;
    }
    write_sums<2>(sums, partial);
}

extern "C" __global__ void predict(const double* state, long long n, const double* weights, const double* signs,
                                   const double* flips, const double* kappa, int step, const double* dm, double dlevel,
                                   double* correction, double* coefficients, double* partial, double* smallest,
                                   double* bins) {
    double sums[5] = {0.0, 0.0, 0.0, 0.0, 0.0}, least[2] = {0.0, 0.0};
    __shared__ double mine[2 * (BINS + 1)];
    clear_bins(mine);
    FOR_EACH_SAMPLE(i, n) {
        double pi = weights[i], flip = flips[i * step], cost = kappa[i * step];
        Ratios r = ratios(state, n, i);
        Change c = direction(state, n, i, flip, r, 0.0, 0.0, 0.0, pi, signs[i] * dm[i], cost * dlevel);
        double r1 = c.e1 * r.i1, r2 = c.e2 * r.i2, r3 = c.e3 * r.i3;
        record(least_of(r1, r2, r3), pi, least[0], mine);
        record(-1.0 + least_of(-r1, -r2, -r3), pi, least[1], mine + BINS + 1);
        double a = state[i], b = state[n + i], g = state[2 * n + i];
        double g1 = state[3 * n + i], g2 = state[4 * n + i], g3 = state[5 * n + i];
        sums[0] += a * c.e1 + b * c.e2 + g * c.e3;
        sums[1] += g1 * c.da + g2 * c.db + g3 * c.dc;
        sums[2] += c.da * c.e1 + c.db * c.e2 + c.dc * c.e3;
        double c1 = moderate(c.da * c.e1, a * g1), c2 = moderate(c.db * c.e2, b * g2), c3 = moderate(c.dc * c.e3, g * g3);
        correction[i] = c1, correction[n + i] = c2, correction[2 * n + i] = c3;
        double row, level;
        right_hand_side(-c1 * r.i1, -c2 * r.i2, -c3 * r.i3, r, row, level);
        coefficients[i] = signs[i] * row;
        sums[3] -= cost * level;
        right_hand_side(pi * r.i1, flip * pi * r.i2, pi * r.i3, r, row, level);
        coefficients[n + i] = signs[i] * row;
        sums[4] -= cost * level;
    }
    write_sums<5>(sums, partial);
    write_smallest<2>(least, smallest);
    add_bins(mine, bins);
}

extern "C" __global__ void longest_steps(const double* state, long long n, const double* weights, const double* signs,
                                         const double* flips, const double* kappa, int step, double target,
                                         const double* correction, const double* dm, double dlevel, double* smallest,
                                         double* bins) {
    double least[2] = {0.0, 0.0};
    __shared__ double mine[2 * (BINS + 1)];
    clear_bins(mine);
    FOR_EACH_SAMPLE(i, n) {
        double flip = flips[i * step];
        Ratios r;
        Change c = corrected(state, n, i, weights[i], flip, target, correction, signs[i] * dm[i], kappa[i * step] * dlevel, r);
        double r1 = c.e1 * r.i1, r2 = c.e2 * r.i2, r3 = c.e3 * r.i3;
        record(least_of(r1, r2, r3), weights[i], least[0], mine);
        double of_flip = c.db / (state[n + i] + (1.0 - flip));
        record(least_of(c.da / state[i], c.dc / state[2 * n + i], of_flip), weights[i], least[1], mine + BINS + 1);
    }
    write_smallest<2>(least, smallest);
    add_bins(mine, bins);
}

extern "C" __global__ void recorrect(const double* state, long long n, const double* weights, const double* signs,
                                     const double* flips, const double* kappa, int step, double target,
                                     const double* correction, const double* dm, double dlevel, double primal, double dual,
                                     double* new_correction, double* coefficients, double* partial) {
    double sums[1] = {0.0};
    FOR_EACH_SAMPLE(i, n) {
        double flip = flips[i * step], cost = kappa[i * step], goal = target * weights[i];
        Ratios r;
        Change c = corrected(state, n, i, weights[i], flip, target, correction, signs[i] * dm[i], cost * dlevel, r);
        double c1 = correction[i] + outlier((state[i] + dual * c.da) * (state[3 * n + i] + primal * c.e1), goal);
        double c3 = correction[2 * n + i] + outlier((state[2 * n + i] + dual * c.dc) * (state[5 * n + i] + primal * c.e3), goal);
        double c2 = correction[n + i] + flip * outlier((state[n + i] + dual * c.db) * (state[4 * n + i] + primal * c.e2), goal);
        new_correction[i] = c1, new_correction[n + i] = c2, new_correction[2 * n + i] = c3;
        double row, level;
        right_hand_side(-c1 * r.i1, -c2 * r.i2, -c3 * r.i3, r, row, level);
        coefficients[i] = signs[i] * row;
        sums[0] -= cost * level;
    }
    write_sums<1>(sums, partial);
}

extern "C" __global__ void move(double* state, long long n, const double* weights, const double* signs,
                                const double* flips, const double* kappa, int step, double target,
                                const double* correction, const double* dm, double dlevel, double primal, double dual,
                                double left, double* partial) {
    double sums[1] = {0.0};
    FOR_EACH_SAMPLE(i, n) {
        double flip = flips[i * step];
        Ratios r;
        Change c = corrected(state, n, i, weights[i], flip, target, correction, signs[i] * dm[i], kappa[i * step] * dlevel, r);
        double a = state[i], b = state[n + i], g = state[2 * n + i];
        double alpha = fmax(a + dual * c.da, left * a);
        double beta = fmax(b + dual * c.db, left * b);
        double gamma = fmax(g + dual * c.dc, left * g);
        double total = alpha + beta + gamma;
        double shrink = total - weights[i] > 0.5 * fmax(alpha, fmax(beta, gamma)) ? weights[i] / total : 1.0;
        alpha *= shrink, beta *= shrink, gamma *= shrink;
        double excess = (alpha - weights[i]) + beta + gamma;
        bool alpha_is_largest = alpha >= fmax(beta, gamma);
        bool beta_is_largest = beta > alpha && beta >= gamma;
        alpha -= alpha_is_largest ? excess : 0.0;
        beta -= beta_is_largest ? excess : 0.0;
        gamma -= alpha_is_largest || beta_is_largest ? 0.0 : excess;
        double s1 = state[3 * n + i], s2 = state[4 * n + i], s3 = state[5 * n + i];
        double g1 = s1 + primal * c.e1, g2 = s2 + primal * c.e2, g3 = s3 + primal * c.e3;
        double lift = fmax(fmax(left * s1 - g1, fmax(left * s2 - g2, left * s3 - g3)), 0.0);
        g1 += lift, g2 += flip * lift, g3 += lift;
        state[i] = alpha, state[n + i] = beta, state[2 * n + i] = gamma;
        state[3 * n + i] = g1, state[4 * n + i] = g2, state[5 * n + i] = g3;
        sums[0] += alpha * g1 + beta * g2 + gamma * g3;
    }
    write_sums<1>(sums, partial);
}

extern "C" __global__ void sides(const double* state, long long n, const double* signs, const double* kappa, int step,
                                 double* coefficients, double* partial) {
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    FOR_EACH_SAMPLE(i, n) {
        bool positive = signs[i] > 0.0;
        double alpha = state[i], beta = state[n + i], cost = kappa[i * step] * beta;
        double first = positive ? alpha : beta, second = positive ? beta : alpha;
        coefficients[i] = first, coefficients[n + i] = second;
        sums[0] += first, sums[1] += second;
        sums[2] += positive ? 0.0 : cost, sums[3] += positive ? cost : 0.0;
    }
    write_sums<4>(sums, partial);
}

__device__ void restoring(const double* state, long long n, long long i, double flip, double dm, double kdl, double& r1,
                          double& r2, double& r3) {
    Ratios r = ratios(state, n, i);
    double ds = -((r.d1 - r.d2) * dm + r.d2 * kdl) * r.inverse;
    r1 = (ds + dm) * r.i1, r2 = flip * (ds - dm + kdl) * r.i2, r3 = ds * r.i3;
}

extern "C" __global__ void restoring_rate(const double* state, long long n, const double* signs, const double* flips,
                                          const double* kappa, int step, const double* dm, double dlevel,
                                          double* smallest) {
    double least[1] = {0.0};
    FOR_EACH_SAMPLE(i, n) {
        double r1, r2, r3;
        restoring(state, n, i, flips[i * step], signs[i] * dm[i], kappa[i * step] * dlevel, r1, r2, r3);
        least[0] = fmin(least[0], -fmax(fabs(r1), fmax(fabs(r2), fabs(r3))));
    }
    write_smallest<1>(least, smallest);
}

extern "C" __global__ void restored(const double* state, long long n, const double* signs, const double* flips,
                                    const double* kappa, int step, const double* dm, double dlevel, double length,
                                    double* alpha, double* beta) {
    FOR_EACH_SAMPLE(i, n) {
        double r1, r2, r3;
        restoring(state, n, i, flips[i * step], signs[i] * dm[i], kappa[i * step] * dlevel, r1, r2, r3);
        alpha[i] = state[i] - length * (state[i] * r1);
        beta[i] = state[n + i] - length * (state[n + i] * r2);
    }
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

// out = sqrt(h_i) x_i.
template <typename T, typename U>
__global__ void scale_rows(const T* X, long long n, int d, const double* h, U* out) {
    long long size = n * d;
    FOR_EACH_SAMPLE(k, size) out[k] = (U)(sqrt(h[k / d]) * (double)X[k]);
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
        while (column + 1 < high && e >= starts[column + 1]) column++;
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
