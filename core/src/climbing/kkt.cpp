#include "climbing/kkt.hpp"

namespace vb {

void judge(const Problem& problem, const Point& at, Workspace& work) {
    double worst = 0.0, gap = 0.0;
    for (Index b = 0; b < problem.set.num_blocks; ++b) {
        const Block& block = problem.set.blocks[b];
        const Index m = block.num_free, first = block.first_free;
        double* rest = work.rest.data;
        copy(work.slope.data + first, m, rest);
        for (Index k = 0; k < at.num_active[b]; ++k) {
            const Index facet = at.active[first + k];
            const double u = work.multiplier[first + k];
            const double slack = block.facets.value(facet, block.facets.offsets, at.y + first);
            add_scaled(u, block.facets.normal(facet), m, rest);
            const double product = u * larger(slack, 0.0);
            worst = larger(worst, product);
            gap += product;
        }
        worst = larger(worst, largest_size(rest, m));
        gap += vb::sqrt(dot(rest, rest, m)) * block.diameter;
    }
    work.residual = worst / work.size;
    work.gap = gap;
}

}  // namespace vb
