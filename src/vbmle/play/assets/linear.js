// Dense linear algebra for I - gamma P, whose rows are dominated by their diagonal: no pivots are needed.

/** LU factors of the n x n matrix in place. */
function factor(lu, n) {
  for (let k = 0; k < n; k++) {
    const pivot = 1 / lu[k * n + k];
    for (let i = k + 1; i < n; i++) {
      const share = lu[i * n + k] * pivot;
      if (share === 0) continue;
      lu[i * n + k] = share;
      for (let j = k + 1; j < n; j++) lu[i * n + j] -= share * lu[k * n + j];
    }
  }
}

/** x becomes the solution of A y = x. */
function solve(lu, n, x) {
  for (let i = 1; i < n; i++) {
    let sum = x[i];
    for (let j = 0; j < i; j++) sum -= lu[i * n + j] * x[j];
    x[i] = sum;
  }
  for (let i = n - 1; i >= 0; i--) {
    let sum = x[i];
    for (let j = i + 1; j < n; j++) sum -= lu[i * n + j] * x[j];
    x[i] = sum / lu[i * n + i];
  }
}

/** x becomes the solution of A' y = x. */
function solveTransposed(lu, n, x) {
  for (let i = 0; i < n; i++) {
    x[i] /= lu[i * n + i];
    for (let j = i + 1; j < n; j++) x[j] -= lu[i * n + j] * x[i];
  }
  for (let i = n - 1; i > 0; i--) for (let j = 0; j < i; j++) x[j] -= lu[i * n + j] * x[i];
}
