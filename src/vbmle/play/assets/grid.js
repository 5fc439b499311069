// The barycentric grid: theta = (i, j, N - i - j)/N, ordered by i and then by j.

class Grid {
  constructor(N) {
    this.N = N;
    this.thetas = [];
    for (let i = 0; i <= N; i++) for (let j = 0; i + j <= N; j++) this.thetas.push([i / N, j / N, (N - i - j) / N]);
    const around = [[1, 0], [-1, 0], [0, 1], [0, -1], [1, -1], [-1, 1]];
    this.neighbours = this.thetas.map((theta) => {
      const i = Math.round(theta[0] * N), j = Math.round(theta[1] * N);
      const there = around.map(([di, dj]) => [i + di, j + dj]);
      return there.filter(([x, y]) => x >= 0 && y >= 0 && x + y <= N).map(([x, y]) => this.index(x, y));
    });
  }

  index(i, j) {
    return i * (this.N + 1) - (i * (i - 1)) / 2 + j;
  }

  /** The point of the grid nearest to theta. */
  nearest(theta) {
    const i = Math.min(this.N, Math.max(0, Math.round(theta[0] * this.N)));
    return this.index(i, Math.min(this.N - i, Math.max(0, Math.round(theta[1] * this.N))));
  }

  /** Points that no neighbour exceeds, the highest first. */
  peaks(heights, most) {
    const found = [];
    for (let g = 0; g < heights.length; g++) {
      if (heights[g] > -Infinity && this.neighbours[g].every((n) => heights[n] <= heights[g])) found.push(g);
    }
    return found.sort((a, b) => heights[b] - heights[a]).slice(0, most);
  }

  /** The height at any theta of the triangle, linear within each small triangle of the grid. */
  between(heights, theta) {
    const x = theta[0] * this.N, y = theta[1] * this.N;
    let i = Math.min(Math.floor(x), this.N - 1), j = Math.min(Math.floor(y), this.N - 1 - i);
    if (j < 0) (i += j), (j = 0);
    const u = x - i, v = y - j;
    if (u + v <= 1) {
      const here = heights[this.index(i, j)];
      return here + u * (heights[this.index(i + 1, j)] - here) + v * (heights[this.index(i, j + 1)] - here);
    }
    const far = heights[this.index(i + 1, j + 1)], p = 1 - u, q = 1 - v;
    return far + p * (heights[this.index(i, j + 1)] - far) + q * (heights[this.index(i + 1, j)] - far);
  }
}
