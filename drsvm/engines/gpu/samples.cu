// What the translated functions of drsvm/compiled/interior_point_sample.py work with: numbers of all samples, with the indices
// that they have in Python. A thread writes only numbers of its own samples.

template <int N>
struct Values {
    double at[N];
};

struct Entries {  // one number per sample
    double* first;
    __device__ double operator()(long long i) const { return first[i]; }
    __device__ void set(long long i, double value) const { first[i] = value; }
};

struct Rows {  // several numbers per sample, each in a row of length n
    double* first;
    long long n;
    __device__ double operator()(int k, long long i) const { return first[k * n + i]; }
    __device__ void set(int k, long long i, double value) const { first[k * n + i] = value; }
};

struct Shared {  // an array with a step of 1, or a number that all samples have in common, with a step of 0
    double* first;
    int step;
};

struct Tile {
    Rows state;
    Entries weights, signs;
    Shared flips, slopes;
    long long n;
};

struct Step {
    double target, lam_change, primal, dual, left;
};

__device__ double at(Shared values, long long i) { return values.first[i * values.step]; }

// Unlike fmin and fmax, these do not lose NaN.
__device__ double min(double a, double b) { return a != a || a < b ? a : b; }
__device__ double max(double a, double b) { return a != a || a > b ? a : b; }
__device__ double abs(double a) { return a < 0.0 ? -a : a; }
