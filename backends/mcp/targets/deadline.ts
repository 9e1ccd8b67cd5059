/** What is left of `timeoutMs` whenever it is asked: at least one millisecond; 0 where there is no timeout (0). */
export function deadline(timeoutMs: number): () => number {
  if (timeoutMs === 0) return () => 0
  const endsAt = performance.now() + timeoutMs
  return () => Math.max(1, Math.ceil(endsAt - performance.now()))
}
