"""Models in the formats that people have: `read` tells them apart by their content, `write` by the name of the file.

    CRAAM       transitions of all candidates as CSV (`craam`)                        read, write
    POMDPX      XML, candidates as a hidden variable that never changes (`pomdpx`)    read, write
    Cassandra   .MDP and .POMDP, candidates as copies of the states (`cassandra`)     read, write
    text        lines of s, a, s', r, p (`text`)                                      read
    BBRL        a Dirichlet prior over tabular models (`bbrl`)                        read
    .npz        what `LinearMixtureMDP.save` writes                                   read, write

What is wrong is refused with a ValueError that names the file, the line and the rule.
"""
