/** LabelSelector of meta/v1. */
import { entriesOf, objectOf } from '#engine/schema/placed.ts'

type Labels = Readonly<Record<string, string>>

/** An empty selector selects everything. One that is wrong selects nothing. */
export function selects(selector: unknown, labels: Labels): boolean {
  const { matchLabels, matchExpressions } = objectOf(selector)
  const has = (key: unknown) => Object.hasOwn(labels, String(key))
  const isIn = (key: unknown, values: unknown) =>
    has(key) && Array.isArray(values) && values.includes(labels[String(key)])
  const requirements: Readonly<Record<string, (key: unknown, values: unknown) => boolean>> = {
    In: isIn,
    NotIn: (key, values) => !isIn(key, values),
    Exists: has,
    DoesNotExist: (key) => !has(key)
  }
  return (
    Object.entries(objectOf(matchLabels)).every(([key, value]) => has(key) && labels[key] === value) &&
    entriesOf(matchExpressions, []).every(
      ({ raw }) => requirements[String(raw.operator)]?.(raw.key, raw.values) === true
    )
  )
}
