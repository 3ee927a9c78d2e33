"""Structure of array equations: integers in, integers out. No expressions and no JAX here.

structure = make_structure(incidence, variable_count, ...)     who occurs where, at which derivative order
found = transform(structure, integers, integer_rows)           all passes, to the special index-1 form
"""

from .blt import Blocks, blt, check_blt
from .diagnosis import Diagnosis, SingularSet, diagnose
from .index1 import Index1Form, Slot, check_index1, special_index1
from .integer_equations import IntegerEquations
from .pantelides import IndexReduction, pantelides
from .pictures import incidence_picture
from .simplify import Simplified, simplify_structure
from .singularities import Singularities, check_singularities, remove_singularities
from .structure import Structure, make_structure, scalarize
from .tearing import Tearing, check_tearing, tear
from .transform import SingularStructure, Transformation, transform

__all__ = [
    "Blocks",
    "Diagnosis",
    "Index1Form",
    "IndexReduction",
    "IntegerEquations",
    "Simplified",
    "SingularSet",
    "SingularStructure",
    "Singularities",
    "Slot",
    "Structure",
    "Tearing",
    "Transformation",
    "blt",
    "check_blt",
    "check_index1",
    "check_singularities",
    "check_tearing",
    "diagnose",
    "incidence_picture",
    "make_structure",
    "pantelides",
    "remove_singularities",
    "scalarize",
    "simplify_structure",
    "special_index1",
    "tear",
    "transform",
]
