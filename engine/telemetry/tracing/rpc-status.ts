/** Names of grpc-status (rpc.response.status_code of the RPC conventions). */
const NAMES = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  ...['INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED']
]

/** Undefined below 0: there is none. */
export function rpcStatus(code: number): string | undefined {
  return code < 0 ? undefined : (NAMES[code] ?? String(code))
}

/** Whether the server is to blame (RPC conventions, "gRPC Status"): others may be what the client has asked for. */
export function isServerFailure(code: number): boolean {
  return code === 2 || code === 4 || (code >= 12 && code <= 15)
}
