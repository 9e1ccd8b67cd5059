/**
 * The share of one of many in a bounded resource (a dynamic threshold: Choudhury and Hahne, "Dynamic Queue Length
 * Thresholds for Shared-Memory Packet Switches", 1998): three times what is left. One alone gets three quarters; those
 * that come later still find a few, until many together have taken everything.
 */
const OF_REST = 3

/** Whether an owner of `own` of the `all` that are taken gets one more; `max`: the bound. */
export function isBelowThreshold(own: number, all: number, max: number): boolean {
  return all < max && own < OF_REST * (max - all)
}
