import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { madeFrom, noted } from './proto.ts'

test('generated code is what `npm run proto` makes of the .proto files', () => {
  deepEqual(noted(), madeFrom())
})
