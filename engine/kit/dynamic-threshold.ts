/**
 * How much one of many may have of what is bounded for all (a dynamic threshold: Choudhury and Hahne, "Dynamic Queue
 * Length Thresholds for Shared-Memory Packet Switches", 1998): three times what is left. Alone that is three quarters
 * of it all, and who comes later finds room for the few that it needs, until many together have taken everything.
 */
const OF_REST = 3

/** Whether who has `own` of `all` that are taken gets one more; `max`: how many there may be. */
export function isBelowThreshold(own: number, all: number, max: number): boolean {
  return all < max && own < OF_REST * (max - all)
}
