package main

import "testing"

func TestResult(t *testing.T) {
	tests := []struct {
		name                  string
		r                     result
		oversold, lost, twice int
		inOrder               bool
	}{
		{"exact", result{stock: 3, sales: []sale{{3, 10}, {2, 11}, {1, 15}}}, 0, 0, 0, true},
		{"told in another order", result{stock: 3, sales: []sale{{1, 15}, {3, 10}, {2, 11}}}, 0, 0, 0, true},
		{"a later sale with a smaller fence", result{stock: 3, sales: []sale{{3, 10}, {2, 9}, {1, 15}}}, 0, 0, 0, false},
		{"a fence given twice", result{stock: 2, sales: []sale{{2, 10}, {1, 10}}}, 0, 0, 0, false},
		{"one thing sold twice", result{stock: 2, sales: []sale{{2, 1}, {2, 2}, {1, 3}}}, 1, 1, 1, true},
		{"a write lost, nothing oversold", result{stock: 3, left: 1, sales: []sale{{3, 1}, {2, 2}, {2, 3}}}, 0, 1, 1, true},
		{"nothing sold", result{stock: 3, left: 3}, 0, 0, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.r.oversold(); got != tt.oversold {
				t.Errorf("oversold = %d, want %d", got, tt.oversold)
			}
			if got := tt.r.lost(); got != tt.lost {
				t.Errorf("lost = %d, want %d", got, tt.lost)
			}
			if got := tt.r.twice(); got != tt.twice {
				t.Errorf("sold twice = %d, want %d", got, tt.twice)
			}
			if got := tt.r.fencesInOrder(); got != tt.inOrder {
				t.Errorf("fences in order = %v, want %v", got, tt.inOrder)
			}
		})
	}
}
