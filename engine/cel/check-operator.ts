/** Which types the operators take. */
import type { BinaryOp } from './ast.ts'
import type { TypeName } from './functions.ts'

const NUMBERS: readonly TypeName[] = ['int', 'uint', 'double']
const ORDERED: readonly TypeName[] = [...NUMBERS, 'string', 'bytes', 'bool', 'timestamp', 'duration']

/** left op right -> result, for operands of different types and those that only one operator takes. */
const SUMS: Readonly<Record<string, TypeName>> = {
  'int + int': 'int',
  'uint + uint': 'uint',
  'double + double': 'double',
  'string + string': 'string',
  'bytes + bytes': 'bytes',
  'list + list': 'list',
  'timestamp + duration': 'timestamp',
  'duration + timestamp': 'timestamp',
  'duration + duration': 'duration',
  'int - int': 'int',
  'uint - uint': 'uint',
  'double - double': 'double',
  'timestamp - timestamp': 'duration',
  'timestamp - duration': 'timestamp',
  'duration - duration': 'duration'
}

type Result = { readonly type: TypeName } | { readonly type: null; readonly message: string }

export function binaryType(op: BinaryOp, left: TypeName, right: TypeName): Result {
  switch (op) {
    case '==':
    case '!=':
      if (alike(left, right) || left === 'null' || right === 'null') return { type: 'bool' }
      return { type: null, message: `${left} and ${right} are never equal` }
    case '<':
    case '<=':
    case '>':
    case '>=':
      if (alike(left, right) && ordered(left) && ordered(right)) return { type: 'bool' }
      return { type: null, message: `${left} ${op} ${right} has no meaning` }
    case 'in':
      if (right === 'dyn' || right === 'list' || right === 'map' || right === 'optional') return { type: 'bool' }
      return { type: null, message: `in looks into a list or a map, not into ${right}` }
    case '+':
    case '-':
      return sum(op, left, right)
    default:
      return product(op, left, right)
  }
}

function alike(left: TypeName, right: TypeName): boolean {
  return left === right || left === 'dyn' || right === 'dyn' || (NUMBERS.includes(left) && NUMBERS.includes(right))
}

function ordered(type: TypeName): boolean {
  return type === 'dyn' || ORDERED.includes(type)
}

function sum(op: '+' | '-', left: TypeName, right: TypeName): Result {
  if (left === 'dyn' || right === 'dyn') return { type: left === 'string' || right === 'string' ? 'string' : 'dyn' }
  const type = SUMS[`${left} ${op} ${right}`]
  return type === undefined ? { type: null, message: clash(op, left, right) } : { type }
}

function product(op: '*' | '/' | '%', left: TypeName, right: TypeName): Result {
  const known = left === 'dyn' ? right : left
  const isNumber = known === 'dyn' || (NUMBERS.includes(known) && !(op === '%' && known === 'double'))
  if (isNumber && (left === right || left === 'dyn' || right === 'dyn')) return { type: known }
  return { type: null, message: clash(op, left, right) }
}

function clash(op: string, left: TypeName, right: TypeName): string {
  const isMixed = left !== right && NUMBERS.includes(left) && NUMBERS.includes(right)
  return `${left} ${op} ${right} has no meaning${isMixed ? ': convert one with int(), uint() or double()' : ''}`
}
