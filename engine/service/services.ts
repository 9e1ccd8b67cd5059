/** What is lent to policies and backends that ask services (contract/service.ts). */
import type { GrpcService, HttpService, ServiceRef, Services } from '#engine/contract/service.ts'
import type { ServiceDestination } from './destination.ts'
import { callUnary, openStream } from './grpc-call.ts'
import { HttpServiceCall } from './http-call.ts'

export interface FoundService extends ServiceDestination {
  readonly name: string
  readonly definition: unknown
}

/** `find` throws a FieldError when there is no such service. */
export function servicesBy(find: (ref: ServiceRef) => FoundService): Services {
  return {
    http: (ref) => httpService(find(ref)),
    grpc: (ref) => grpcService(find(ref))
  }
}

function httpService(service: FoundService): HttpService {
  return {
    name: service.name,
    definition: service.definition,
    request: (request, done) => new HttpServiceCall(service, request, done).begin(request)
  }
}

function grpcService(service: FoundService): GrpcService {
  return {
    name: service.name,
    unary: (options, message, done) => callUnary(service, options, message, done),
    stream: (options, events) => openStream(service, options, events)
  }
}
