/** Dynamic metadata of services: what reads it goes down into each map and list. */

export const METADATA_DEPTH_MAX = 32

/** Whether maps and lists in `value` are nested deeper than `levels`. */
export function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1))
}
