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

  /** The points up to two steps away from theta. */
  around(theta) {
    const ring = (points) => [...new Set(points.flatMap((g) => [g, ...this.neighbours[g]]))];
    return ring(ring([this.nearest(theta)]));
  }

  /** Points that no neighbour exceeds, the highest first. */
  peaks(heights, most) {
    const found = [];
    for (let g = 0; g < heights.length; g++) {
      if (heights[g] > -Infinity && this.neighbours[g].every((n) => heights[n] <= heights[g])) found.push(g);
    }
    return found.sort((a, b) => heights[b] - heights[a]).slice(0, most);
  }

  /** The three points around any theta of the triangle, and their shares: heights in between are linear. */
  corners(theta) {
    const x = theta[0] * this.N, y = theta[1] * this.N;
    let i = Math.min(Math.floor(x), this.N - 1);
    const j = Math.min(Math.floor(y), this.N - 1 - i), u = x - i, v = y - j;
    if (u + v <= 1 || i + j + 2 > this.N) {
      return [this.index(i, j), this.index(i + 1, j), this.index(i, j + 1), Math.max(0, 1 - u - v), u, v];
    }
    return [this.index(i + 1, j + 1), this.index(i, j + 1), this.index(i + 1, j), u + v - 1, 1 - u, 1 - v];
  }

  /** All small triangles, by their points. */
  get triangles() {
    const found = [], { N } = this;
    for (let i = 0; i < N; i++) for (let j = 0; i + j < N; j++) {
      found.push([this.index(i, j), this.index(i + 1, j), this.index(i, j + 1)]);
      if (i + j + 2 <= N) found.push([this.index(i + 1, j + 1), this.index(i, j + 1), this.index(i + 1, j)]);
    }
    return found;
  }

  /** The point deepest inside a region, or null where the region is too small to write into. */
  heart(inside) {
    const depth = new Int32Array(this.thetas.length).fill(-1);
    let rim = this.thetas.map((_, g) => g).filter((g) => !inside(g) || this.neighbours[g].length < 6);
    rim.forEach((g) => (depth[g] = 0));
    for (let round = 1; rim.length; round++) {
      const next = new Set(rim.flatMap((g) => this.neighbours[g]).filter((g) => depth[g] < 0));
      next.forEach((g) => (depth[g] = round));
      rim = [...next];
    }
    let best = null;
    for (let g = 0; g < depth.length; g++) if (inside(g) && depth[g] > (best === null ? 1 : depth[best])) best = g;
    return best;
  }
}
