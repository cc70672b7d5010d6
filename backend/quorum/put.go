package quorum

// Put has m, which may be nil, have v at k. Where that would be more than most, all else is
// forgotten: it is asked for again, or observed anew.
func Put[K comparable, V any](m *map[K]V, most int, k K, v V) {
	if _, there := (*m)[k]; *m == nil || !there && len(*m) >= most {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
