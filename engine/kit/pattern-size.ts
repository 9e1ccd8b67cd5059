/**
 * How large an expression of RE2 syntax becomes when its repetitions are written out: what compiling it costs, some
 * 10 us a step, and what each character costs that it is matched against. Counted before it is compiled, so that a
 * short text cannot ask for seconds: "(a{1000})" a hundred times is 100,000 steps.
 */
export function patternSize(source: string): number {
  const outer: Sum[] = []
  let sum: Sum = { total: 0, last: 0 }
  const add = (size: number): void => {
    sum = { total: sum.total + size, last: size }
  }
  for (const [token] of source.matchAll(TOKEN)) {
    if (token === '(') {
      outer.push(sum)
      sum = { total: 0, last: 0 }
    } else if (token === ')') {
      const inner = sum.total + GROUP
      sum = outer.pop() ?? { total: 0, last: 0 }
      add(inner)
    } else if (/^[*+?|^$]$/.test(token)) sum.total++
    else if (/^\{\d/.test(token)) {
      const [least = 0, most = least] = (token.match(/\d+/g) ?? []).map(Number)
      const times = Math.max(least, most, 1)
      sum = { total: sum.total + sum.last * (times - 1) + 1, last: sum.last * times }
    } else add(1)
  }
  for (const one of outer) sum.total += one.total
  return sum.total
}

/** Of a part in parentheses; `last`: of what a repetition would repeat. */
interface Sum {
  total: number
  readonly last: number
}

/** Where a group begins and where it ends. */
const GROUP = 2

/** An escape, a class, a repetition, the beginning of a group with its flags, or any other character. */
const TOKEN = /\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|[\s\S]/g
