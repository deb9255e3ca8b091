"""T5's buckets of distances (arXiv 1910.10683, the authors' code), found with integers."""


def bucket_of_side(distance, buckets, farthest):
    """floor(log(n/e) / log(M/e) * s) >= k  <=>  n^s e^k >= M^k e^s, in integers."""
    exact = buckets // 2
    if distance < exact:
        return distance
    s, k = buckets - exact, 0
    while k + 1 < s and distance**s * exact ** (k + 1) >= farthest ** (k + 1) * exact**s:
        k += 1
    return exact + k


def bucket(distance, causal, buckets, farthest):
    if causal:
        return bucket_of_side(max(distance, 0), buckets, farthest)
    after = buckets // 2 if distance < 0 else 0
    return after + bucket_of_side(abs(distance), buckets // 2, farthest)
