"""Small files of two formats: lines of s, a, s', r, p, and a Dirichlet prior."""

LINES = """s, a, s', r     ,  p

0, 0, 1, 0.0    , 0.3
0, 0, 0, 0.0, 0.7
0, 1, 0, 5.0, 1.0
1, 1, 0, -2, 1
start, 1, 1.0
time_limit, 5000
"""
CHAIN = """Serializable
0
IMDPDistribution
2
Short chain
SC
MDPDistribution
0
DirMultiDistribution
21
2
2
0
1\t1
1\t0
1\t3
0\t2
0
2\t10
2\t10
2\t10
2\t10
1
"""
