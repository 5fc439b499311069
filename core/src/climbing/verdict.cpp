#include "climbing/verdict.hpp"

namespace vb {

Verdict judge(const Problem& problem, const Point& at, const Slope& slope, const double* multiplier, double* rest) {
    double worst = 0.0, gap = 0.0;
    for (Index b = 0; b < problem.set.num_blocks; ++b) {
        const Block& block = problem.set.blocks[b];
        const Index m = block.num_free, first = block.first_free;
        double* own = rest + first;
        copy(slope.in_y.data + first, m, own);
        for (Index k = 0; k < at.num_active[b]; ++k) {
            const Index facet = at.active[first + k];
            const double u = multiplier[first + k];
            const double slack = block.facets.value(facet, block.facets.offsets, at.y + first);
            add_scaled(u, block.facets.normal(facet), m, own);
            const double product = u * larger(slack, 0.0);
            worst = larger(worst, product);
            gap += product;
        }
        worst = larger(worst, largest_size(own, m));
        gap += vb::sqrt(dot(own, own, m)) * block.diameter;
    }
    return {worst / slope.size, gap};
}

}  // namespace vb
