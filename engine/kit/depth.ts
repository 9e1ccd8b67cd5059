/** How deep a value is nested: asked first of values from outside, because walking through them takes V8's stack. */

/** Of values in resources. Real ones have 20 levels. */
export const RESOURCE_DEPTH_MAX = 100

/** Whether maps and lists in `value` are nested deeper than `levels`. */
export function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1))
}
