/** JSON that was right, bent here and there: gets behind the checks that random bytes never pass. */
import { createHash } from 'node:crypto'

type Value = null | boolean | number | string | Value[] | { [name: string]: Value }

const OTHERS: readonly Value[] = [
  ...[
    null,
    true,
    0,
    -1,
    1e9,
    1.5,
    1e308,
    '',
    'a',
    '[DONE]',
    '{',
    '{"a":1}',
    'weir.WyJnZW1pbmkiLCJhIl0',
    '\ud800',
    '__proto__'
  ],
  ...[[], {}, [null], [[]], [{}], { type: 'text' }, { type: 'function' }, { type: 'a', text: 'b' }],
  { type: 'thinking', thinking: 'a', signature: 'b' },
  { error: { message: 'm' } }
]

interface Place {
  readonly of: Value[] | { [name: string]: Value }
  readonly at: number | string
}

function placesOf(value: Value, places: Place[]): Place[] {
  if (typeof value !== 'object' || value === null) return places
  for (const [name, child] of Object.entries(value)) {
    places.push({ of: value, at: Array.isArray(value) ? Number(name) : name } as Place)
    placesOf(child, places)
  }
  return places
}

/** A copy of `json` with one to four changes that `input` decides: values replaced, taken away, moved or repeated. */
export function bentJson(json: string, input: Buffer): unknown {
  const bytes = createHash('sha1').update(input).digest()
  const root = { value: JSON.parse(json) as Value }
  for (let i = 4; i <= 4 + (bytes[0]! % 4) * 4; i += 4) {
    const places = placesOf(root, [])
    const [at, from] = [bytes.readUInt16LE(i), bytes[i + 3]!]
    const place = places[at % places.length]!
    const other = places[(at * 31 + from) % places.length]!
    const own = (target: Place) => (target.of as { [name: string]: Value })[target.at]!
    if (bytes[i + 2]! % 4 === 0) Object.assign(place.of, { [place.at]: structuredClone(OTHERS[from % OTHERS.length]) })
    else if (bytes[i + 2]! % 4 === 1) Object.assign(place.of, { [place.at]: structuredClone(own(other)) })
    else if (Array.isArray(place.of)) {
      if (bytes[i + 2]! % 4 === 2) place.of.splice(Number(place.at), 1)
      else if (place.of.length < 32) place.of.push(structuredClone(own(place)))
    } else if (place.of !== root) delete place.of[place.at]
  }
  return root.value
}
