package figures

// Work is what was done so far, or for one thing: processor time in seconds, and
// commands of Redis, those inside of scripts included.
type Work struct {
	Callers, Gateways, Redis float64
	Commands, Scripts        float64
}

// Add is w and o together.
func (w Work) Add(o Work) Work {
	return Work{w.Callers + o.Callers, w.Gateways + o.Gateways, w.Redis + o.Redis, w.Commands + o.Commands, w.Scripts + o.Scripts}
}

// Subtract is w without o.
func (w Work) Subtract(o Work) Work { return w.Add(o.Per(-1)) }

// Per is what one of n things cost.
func (w Work) Per(n float64) Work {
	return Work{w.Callers / n, w.Gateways / n, w.Redis / n, w.Commands / n, w.Scripts / n}
}
