package seq

// Waiting returns for how many waiting items op has memory.
func Waiting[T, O1, O2 any](op *MergeOp[T, O1, O2]) int { return len(op.waiting.ring) }
